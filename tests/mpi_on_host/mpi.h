// A stand-in for the part of MPI that calibrate/ uses, between processes that a test has forked.
#pragma once

#include <cstddef>

using MPI_Comm = int;
using MPI_Datatype = int;
using MPI_Errhandler = int;
using MPI_Request = int;
struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
};

constexpr int MPI_SUCCESS = 0;
constexpr int MPI_ERR_OTHER = 15;
constexpr int MPI_ERR_ARG = 12;
constexpr int MPI_THREAD_FUNNELED = 1;
constexpr int MPI_ANY_SOURCE = -1;
constexpr MPI_Comm MPI_COMM_WORLD = 0;
constexpr MPI_Datatype MPI_BYTE = 1;
constexpr MPI_Errhandler MPI_ERRORS_RETURN = 1;
constexpr MPI_Request MPI_REQUEST_NULL = -1;
constexpr int MPI_MAX_ERROR_STRING = 256;
constexpr int MPI_MAX_PROCESSOR_NAME = 256;
constexpr int MPI_MAX_LIBRARY_VERSION_STRING = 256;
#define MPI_STATUS_IGNORE static_cast<MPI_Status*>(nullptr)

int MPI_Init_thread(int* count, char*** values, int wanted, int* provided);
int MPI_Finalize();
int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Error_string(int error, char* text, int* length);
int MPI_Get_processor_name(char* name, int* length);
int MPI_Get_library_version(char* version, int* length);
int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Irecv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status);
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* is_there, MPI_Status* status);
