// Kernels for the tests of the runner, as codegen would write them: no includes, the ABI of weft.h spelled out.
typedef long i64;
struct Error { i64 check, value, bound; };
struct Runtime {
  void (*parallel_for)(i64, i64, void (*)(void *, i64, i64, i64), void *);
  void *(*scratch)(i64, i64);
  i64 num_threads;
  Error *error;
};
#define KERNEL extern "C" __attribute__((visibility("default"))) i64

KERNEL axpy(void *const *b, const i64 *v, const Runtime *) {  // b2 = b0 + 2 * b1, v0 elements
  const float *x = (const float *)b[0], *y = (const float *)b[1];
  float *out = (float *)b[2];
  for (i64 i = 0; i < v[0]; i++) out[i] = x[i] + 2 * y[i];
  return 0;
}

KERNEL twice(void *const *b, const i64 *v, const Runtime *) {
  const float *x = (const float *)b[0];
  float *out = (float *)b[1];
  for (i64 i = 0; i < v[0]; i++) out[i] = x[i] + x[i];
  return 0;
}

struct Work { const float *x; float *out; };
static void square_range(void *p, i64 begin, i64 end, i64) {
  Work *w = (Work *)p;
  for (i64 i = begin; i < end; i++) w->out[i] = w->x[i] * w->x[i];
}
KERNEL square(void *const *b, const i64 *v, const Runtime *rt) {
  Work w = {(const float *)b[0], (float *)b[1]};
  rt->parallel_for(v[0], 1000, square_range, &w);
  return 0;
}

KERNEL scale(void *const *b, const i64 *v, const Runtime *) {  // by a float among the values
  double factor;
  __builtin_memcpy(&factor, &v[1], 8);
  for (i64 i = 0; i < v[0]; i++) ((float *)b[1])[i] = ((const float *)b[0])[i] * (float)factor;
  return 0;
}

KERNEL gather(void *const *b, const i64 *v, const Runtime *rt) {  // b2[i] = b0[b1[i]], v0 long, b0 v1 long
  const i64 *index = (const i64 *)b[1];
  for (i64 i = 0; i < v[0]; i++)
    if (index[i] < 0 || index[i] >= v[1]) {
      rt->error->value = index[i];
      rt->error->bound = v[1];
      return 1;
    }
  for (i64 i = 0; i < v[0]; i++) ((float *)b[2])[i] = ((const float *)b[0])[index[i]];
  return 0;
}

KERNEL add_one(void *const *b, const i64 *v, const Runtime *) {
  for (i64 i = 0; i < v[0]; i++) ((float *)b[0])[i] += 1;
  return 0;
}

KERNEL bits(void *const *b, const i64 *v, const Runtime *) {  // writes its values
  for (i64 i = 0; i < v[0]; i++) ((i64 *)b[0])[i] = v[i];
  return 0;
}

KERNEL below(void *const *b, const i64 *v, const Runtime *) {  // b1[0] = b0[0] < v0
  *(unsigned char *)b[1] = *(const float *)b[0] < (float)v[0];
  return 0;
}

KERNEL wait(void *const *b, const i64 *v, const Runtime *) {  // until b0[0] is not 0, or v0 turns
  volatile float *flag = (volatile float *)b[0];
  i64 turns = 0;
  while (*flag == 0 && turns < v[0]) {
    __builtin_ia32_pause();
    turns++;
  }
  ((float *)b[1])[0] = *flag;
  return 0;
}

KERNEL multiply(void *const *b, const i64 *v, const Runtime *) {
  for (i64 i = 0; i < v[0]; i++) ((float *)b[2])[i] = ((const float *)b[0])[i] * ((const float *)b[1])[i];
  return 0;
}
