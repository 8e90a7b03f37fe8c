// Tests whether MPI works here: it uses the functions that the plug-in needs, and nothing of
// Tessera.
#include <mpi.h>

int main(int argc, char** argv) {
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  void* memory = nullptr;
  MPI_Win window;
  MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, node, &memory, &window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return threads < MPI_THREAD_SERIALIZED;
}
