/* The interface between the library and a transport plug-in. It is plain C, so that neither depends
   on how the other was compiled. A plug-in is a shared library that exports one function,
   tessera_open_transport.

   Functions return 0 on success; otherwise `error` holds a message for the user. Only open, share,
   unshare and close wait for other processes; other operations are started, and `test` tells
   whether they are complete. The functions are called by one thread at a time. */
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
  int apart;     /* set by the library: treat each process as its own machine */
  char name[96]; /* for example "Open MPI v4.1.4" */
  int rank, size;
  int node_size;   /* processes on this machine */
  const int* node; /* their ranks, ascending */
  char error[512]; /* message of the last failure */

  /* all_gather is over all processes and takes fewer than 2^31 bytes per call. `test` frees a
     request that is complete. */
  int (*all_gather)(struct TesseraTransport*, const void* mine, size_t bytes, void* all,
                    TesseraRequest**);
  int (*send)(struct TesseraTransport*, int to, int tag, const void* from, size_t bytes,
              TesseraRequest**);
  int (*receive)(struct TesseraTransport*, int from, int tag, void* to, size_t bytes,
                 TesseraRequest**);
  int (*test)(struct TesseraTransport*, TesseraRequest**, int* over);
  /* A process whose message with this tag has arrived but is not received yet, or -1. */
  int (*probe)(struct TesseraTransport*, int tag, int* from);

  /* Allocates zeroed memory that the processes of this machine share: one segment of `bytes` per
     process, in the order of `node`. All of them must call it, and they wait for each other. */
  int (*share)(struct TesseraTransport*, size_t bytes, void** segments, TesseraWindow**);
  int (*unshare)(struct TesseraTransport*, TesseraWindow*);

  int (*close)(struct TesseraTransport*);            /* called by all processes, at the end */
  void (*abort)(struct TesseraTransport*, int code); /* ends all processes at once */
} TesseraTransport;

/* Joins the processes that were started together. */
typedef int (*TesseraOpenTransport)(TesseraTransport* out);

#ifdef __cplusplus
}
#endif
#endif
