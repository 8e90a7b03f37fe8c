// The search runs in a worker, which browsers refuse to a page from a folder (file://). This class runs the worker's script in a hidden
// frame instead, behind the part of Worker's interface that the search uses.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      // What the script posts goes to this object. `post` keeps the frame's own function out of it.
      this.inside.postMessage = data => this.answer(data);
      this.inside.importScripts = () => {};
      const script = this.inside.document.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = () => {
        for (const data of this.waiting.splice(0)) this.deliver(data);
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
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else setTimeout(() => this.deliver(data));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
