/* What a transport plug-in gives the library: plain C, so that neither depends on how the other was
   compiled. A plug-in is a shared library with the one function tessera_open_transport.

   Functions return 0, or another number with a text for people in `error`. No function waits for
   another process but open and close: what takes others is begun, and `test` says whether it is
   over. They are called by one thread at a time. */
#ifndef TESSERA_DISTRIBUTED_TRANSPORT_ABI_H
#define TESSERA_DISTRIBUTED_TRANSPORT_ABI_H

#include <stddef.h>

#define TESSERA_TRANSPORT_VERSION 3

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TesseraRequest TesseraRequest;
typedef struct TesseraWindow TesseraWindow;

typedef struct TesseraTransport {
  int version;
  int apart; /* set by the library: as if each process had a machine of its own; of one, for all */
  char name[96]; /* "Open MPI v4.1.4" */
  int rank, size;
  int node_size;   /* processes on this machine */
  const int* node; /* their ranks, ascending */
  char error[512]; /* of the last function that failed */

  /* Over all processes, of fewer than 2^31 bytes at a time in all_gather; requests are freed when test finds them over. */
  int (*all_gather)(struct TesseraTransport*, const void* mine, size_t bytes, void* all,
                    TesseraRequest**);
  int (*send)(struct TesseraTransport*, int to, int tag, const void* from, size_t bytes,
              TesseraRequest**);
  int (*receive)(struct TesseraTransport*, int from, int tag, void* to, size_t bytes,
                 TesseraRequest**);
  int (*test)(struct TesseraTransport*, TesseraRequest**, int* over);
  /* Whose message of that tag has come and is not received yet: of one of them, or -1. */
  int (*probe)(struct TesseraTransport*, int tag, int* from);

  /* Memory that the processes of this machine share: `bytes` of each, by place in `node`. All of
     them take part, and wait for each other. It is zero. */
  int (*share)(struct TesseraTransport*, size_t bytes, void** segments, TesseraWindow**);
  int (*unshare)(struct TesseraTransport*, TesseraWindow*);

  int (*close)(struct TesseraTransport*);            /* all processes, at the end */
  void (*abort)(struct TesseraTransport*, int code); /* ends all processes, at once */
} TesseraTransport;

/* Joins the processes that were started together. */
typedef int (*TesseraOpenTransport)(TesseraTransport* out);

#ifdef __cplusplus
}
#endif
#endif
