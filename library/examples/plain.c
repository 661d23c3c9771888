/* The same in C99, and how a mistake is told. */
#include <sgdsim/sgdsim.h>
#include <stdio.h>
#include <string.h>

static int ask(const char* command, const char* fields) {
  sgdsim_answer* answer = NULL;
  const int code = sgdsim_ask(command, fields, strlen(fields), NULL, NULL, &answer);
  puts(code == 0 ? sgdsim_json(answer, NULL) : sgdsim_error(answer));
  sgdsim_free(answer);
  return code;
}

int main(void) {
  const char good[] = "{\"algorithm\": \"ring\", \"bytes\": \"64 MiB\", \"cluster\": \"10gbe_16\"}";
  const char bad[] = "{\"algorithm\": \"rnig\", \"bytes\": \"64 MiB\", \"cluster\": \"10gbe_16\"}";
  return ask("collective", good) == 0 && ask("collective", bad) == 2 ? 0 : 1;
}
