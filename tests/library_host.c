/* A host program with habits of its own: denormals flushed and another rounding, columns, progress,
   many threads. Prints what fails; in C99. */
#include <fenv.h>
#include <pthread.h>
#include <sgdsim/arrow.h>
#include <sgdsim/sgdsim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#define CHECK(holds)                                                \
  do {                                                              \
    if (!(holds)) {                                                 \
      fprintf(stderr, "library_host.c:%d: %s\n", __LINE__, #holds); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

static const char ring[] =
    "{\"algorithm\": \"ring\", \"bytes\": \"1 MiB\", \"cluster\": \"10gbe_16\"}";
static const char sweep[] =
    "{\"sweep\": \"resnet50_v100\", \"cluster\": \"10gbe_16\", \"axis\": "
    "[\"cluster.nodes=2..9:1\"], \"as_columns\": true}";

static char* text_of(const char* command, const char* fields) {
  sgdsim_answer* answer = NULL;
  CHECK(sgdsim_ask(command, fields, strlen(fields), NULL, NULL, &answer) == 0);
  char* text = malloc(strlen(sgdsim_json(answer, NULL)) + 1);
  strcpy(text, sgdsim_json(answer, NULL));
  sgdsim_free(answer);
  return text;
}

static void floating_point(void) {
  char* wanted = text_of("collective", ring);
  fesetround(FE_UPWARD);
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040u); /* flush denormals, take them as zero */
  const unsigned before = _mm_getcsr();
#endif
  char* found = text_of("collective", ring);
#if defined(__SSE__)
  CHECK(_mm_getcsr() == before);
  _mm_setcsr(before & ~0x8040u);
#endif
  CHECK(fegetround() == FE_UPWARD);
  fesetround(FE_TONEAREST);
  CHECK(strcmp(wanted, found) == 0);
  free(wanted);
  free(found);
}

static int counted(void* with, int64_t done, int64_t total) {
  (void)done, (void)total;
  ++*(int*)with;
  return 0;
}
static int ends(void* with, int64_t done, int64_t total) {
  (void)with, (void)done, (void)total;
  return 1;
}

static void columns(void) {
  int calls = 0;
  sgdsim_answer* answer = NULL;
  CHECK(sgdsim_ask_watched("sweep", sweep, strlen(sweep), counted, &calls, &answer) == 0);
  CHECK(calls > 0);
  struct ArrowArrayStream stream, other;
  CHECK(sgdsim_columns(answer, &stream) == 0);
  CHECK(sgdsim_columns(answer, &other) == 0);
  sgdsim_free(answer); /* what was read outlives it */
  other.release(&other);
  CHECK(other.release == NULL);
  struct ArrowSchema schema;
  struct ArrowArray array, end;
  CHECK(stream.get_schema(&stream, &schema) == 0);
  CHECK(stream.get_next(&stream, &array) == 0);
  CHECK(stream.get_next(&stream, &end) == 0);
  CHECK(end.release == NULL);
  stream.release(&stream);
  CHECK(array.length == 8 && array.n_children == schema.n_children);
  int found = 0;
  for (int64_t i = 0; i < schema.n_children; ++i)
    if (strcmp(schema.children[i]->name, "axes.cluster.nodes") == 0) {
      CHECK(strcmp(schema.children[i]->format, "l") == 0);
      for (int64_t row = 0; row < 8; ++row)
        CHECK(((const int64_t*)array.children[i]->buffers[1])[row] == row + 2);
      /* Moved out, as readers may do. */
      struct ArrowArray mine = *array.children[i];
      array.children[i]->release = NULL;
      array.release(&array);
      CHECK(((const int64_t*)mine.buffers[1])[7] == 9);
      mine.release(&mine);
      found = 1;
    }
  CHECK(found);
  schema.release(&schema);
}

static void mistakes(void) {
  static const char bad[] =
      "{\"algorithm\": \"ring\", \"bytes\": \"many\", \"cluster\": \"10gbe_16\"}";
  sgdsim_answer* answer = NULL;
  CHECK(sgdsim_ask("collective", bad, strlen(bad), NULL, NULL, &answer) == 2);
  CHECK(strstr(sgdsim_error_place(answer), "\"field\":\"--bytes\"") != NULL);
  struct ArrowArrayStream stream;
  CHECK(sgdsim_columns(answer, &stream) == 1 && stream.release == NULL);
  sgdsim_free(answer);
  /* Too many points to be done before somebody looks. */
  static const char endless[] =
      "{\"sweep\": \"resnet50_v100\", \"cluster\": \"10gbe_16\", \"axis\": "
      "[\"cluster.nodes=2..900:1\", \"seed=1..1000:1\"]}";
  CHECK(sgdsim_ask_watched("sweep", endless, strlen(endless), ends, NULL, &answer) == 130);
  sgdsim_free(answer);
  CHECK(sgdsim_ask(NULL, NULL, 0, NULL, NULL, &answer) == 2);
  sgdsim_free(answer);
  sgdsim_free(NULL);
  CHECK(sgdsim_columns(NULL, &stream) == 1);
}

/* Of all sorts, some with threads of their own. */
static const char* const questions[][2] = {
    {"run", "{\"experiment\": \"resnet50_v100\", \"cluster\": \"25gbe_16\", \"set\": {\"seed\": 3}}"},
    {"plan", "{\"experiment\": \"app/experiments/googlenet_k80.json\"}"},
    {"sweep",
     "{\"sweep\": \"app/experiments/googlenet_k80.json\", \"axis\": [\"cluster.nodes=2..8\"], "
     "\"threads\": 3}"},
    {"collective",
     "{\"algorithm\": \"ring\", \"bytes\": \"1 MiB\", \"cluster\": \"10gbe_16\", "
     "\"fidelity\": \"packet\"}"},
    {"layout", "{\"model\": \"llama3.1_8b\", \"cluster\": \"dgx_h100_4\", \"gpus\": 8}"},
    {"goodput",
     "{\"question\": \"app/goodput_questions/llama3_405b.json\", \"runs\": 40, \"threads\": 3}"},
    {"learn",
     "{\"experiment\": \"app/experiments/bert_base_10gbe.json\", \"iterations\": 20, "
     "\"seeds\": 2, \"jobs\": 2, \"set\": {\"cluster.nodes\": 4}}"},
    {"advise", "{\"file\": \"resnet50_v100\", \"cluster\": \"25gbe_16\"}"},
    {"jobs", "{\"jobs\": \"app/job_files/two_jobs.json\"}"},
    {"validate", "{\"case\": \"models/collective/data/tcp_star_100mbps_2.json\"}"},
};
enum { kinds = sizeof questions / sizeof *questions };

static void* ask_one(void* question) {
  const char* const* one = question;
  return text_of(one[0], one[1]);
}

static void threads(void) {
  enum { count = 64 };
  pthread_t started[count];
  char* alone[kinds];
  for (int i = 0; i < count; ++i)
    CHECK(pthread_create(&started[i], NULL, ask_one, (void*)questions[i % kinds]) == 0);
  for (int i = 0; i < count; ++i) {
    void* found = NULL;
    pthread_join(started[i], &found);
    if (i < kinds) alone[i] = ask_one((void*)questions[i]);
    CHECK(strlen(alone[i % kinds]) > 1000);
    CHECK(strcmp(found, alone[i % kinds]) == 0);
    free(found);
  }
  for (int i = 0; i < kinds; ++i) free(alone[i]);
}

int main(void) {
  floating_point();
  columns();
  mistakes();
  threads();
  return 0;
}
