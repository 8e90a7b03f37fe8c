// The search runs in a worker. This file changes two things of it.
//
// A word of a query finds everything that begins with it, and nothing ranks "psum" before "psum_scatter". Each word is therefore added once
// more, as it stands and with a weight, so that sections of that very name come first.
//
// Browsers refuse a worker to a page from a folder (file://). There its script runs in a hidden frame, behind the part of Worker's interface
// that the search uses.
{
  const sharpened = message => {
    if (message.type !== 2 || /["+^~*-]/.test(message.data)) return message;
    const words = message.data.replace(/::/g, " ").split(/\s+/).filter(w => w);
    return {...message, data: [...words, ...words.map(w => w + "^30")].join(" ")};
  };
  const Native = window.Worker;
  window.Worker = location.protocol !== "file:" ? class extends Native {
    postMessage(message, ...more) {
      super.postMessage(sharpened(message), ...more);
    }
  } : class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = data => this.answer(data);
      this.inside.importScripts = () => {};
      const script = this.inside.document.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = () => {
        for (const message of this.waiting.splice(0)) this.deliver(message);
        this.waiting = null;
      };
      this.inside.document.head.appendChild(script);
    }
    answer(data) {
      const event = new MessageEvent("message", {data});
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    deliver(data) {
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", {data}));
    }
    postMessage(message) {
      if (this.waiting) this.waiting.push(sharpened(message));
      else setTimeout(() => this.deliver(sharpened(message)));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
