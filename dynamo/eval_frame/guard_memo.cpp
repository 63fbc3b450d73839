// guard_memo.cpp: running a program, and the memo that spares the walk of its fixed part.
#include "guard_read.h"

#include <algorithm>

// ------------------------------------------------------------------------------------------ running
static void own(const std::vector<Instr> &part, PyObject *const *regs, size_t done, size_t &owned, Owned &into) {
  for (; owned < done; owned++) {
    const Instr &in = part[owned];
    if (in.op < OP_TYPE_IS && regs[in.dst]) into.items.push_back(Py_NewRef(regs[in.dst]));
  }
}

void Walk::own_registers() {
  own(*program->live, regs, live_done, live_owned, owned);
  own(*program->fixed, regs, fixed_done, fixed_owned, owned);
}

static inline bool step(Walk &w, Instr &in) {
  bool passed;
  switch (in.op) {
  case OP_LOCAL: passed = (w.regs[in.dst] = w.args[in.a]) != NULL; break; // these three are most of what a call runs
  case OP_TENSOR: passed = tensor_is(w, w.regs[in.a], in); break;
  case OP_AMBIENT: passed = ambient_is(in); break;
  default: passed = in.op < OP_TYPE_IS ? (w.regs[in.dst] = read(w, in)) != NULL : check(w, in);
  }
  if (!passed) w.program->failed = in.guard;
  return passed;
}

static bool run(std::vector<Instr> &part, Walk &w, size_t &done, size_t first = 0) {
  for (done = first; done < part.size(); done++)
    if (!step(w, part[done])) return false;
  return true;
}

// Whether `in` reads a register that only a computed read fills. Those that read many are taken to.
static bool reads_again(const Walk &w, const Instr &in, bool any) {
  if (!any || in.op <= OP_OBJECT || in.op == OP_LACKS_GLOBAL) return false;
  if (in.op == OP_SAME_OBJECT) return w.standing[in.a] == kAgain || w.standing[in.b] == kAgain;
  return in.op > OP_SAME_OBJECT || w.standing[in.a] == kAgain;
}

// The walk of the fixed part, noted in `memo`. What words cannot describe is listed in memo->again.
static bool walk(GuardProgram *p, Walk &w, Memo *memo) {
  w.standing.assign((size_t)p->n_regs + 1, kLoose);
  bool any = false;
  for (w.fixed_done = 0; w.fixed_done < p->fixed->size(); w.fixed_done++) {
    Instr &in = (*p->fixed)[w.fixed_done];
    bool again = reads_again(w, in, any);
    w.memo = again ? NULL : memo;
    w.forget = false;
    w.found_in_dict = false;
    bool passed = step(w, in);
    w.memo = NULL;
    if (!passed) return false;
    again |= w.forget;
    any |= again;
    if (again) memo->again.push_back((uint32_t)w.fixed_done);
    if (in.op < OP_TYPE_IS) w.standing[in.dst] = again ? kAgain : w.found_in_dict ? kAnchored : kLoose;
  }
  return true;
}

// -------------------------------------------------------------------------------------------- memo
void memo_clear(Memo *m) {
  std::vector<PyObject *> keep;
  keep.swap(m->keep);
  m->words.clear();
  m->types.clear();
  m->reads.clear();
  m->unlike.clear();
  m->tensors.clear();
  m->laid_out.clear();
  m->layouts.clear();
  m->again.clear();
  m->key.clear();
  for (PyObject *o : keep) Py_DECREF(o);
}

static inline bool same_tensor(const SeenTensor &seen) {
  const WeftTensor *t = seen.tensor;
  uint64_t differ = (uint64_t)Py_TYPE(t) ^ (uint64_t)seen.type;
  differ |= (uint64_t)(t->word ^ seen.word) | (uint64_t)(t->offset ^ seen.offset) | (uint64_t)(t->numel ^ seen.numel);
  return differ == 0;
}

// The word, which was compared, holds the number of dims: as many integers follow as were noted.
static inline bool same_layout(const WeftTensor *t, const int64_t *&layout) {
  int64_t differ = 0;
  int ndim = WEFT_NDIM(t);
  for (int i = 0; i < ndim; i++) differ |= (t->sizes[i] ^ layout[i]) | (t->strides[i] ^ layout[ndim + i]);
  layout += 2 * ndim;
  return differ == 0;
}

// Words `at` to `end`, which become `at`.
static inline bool words_hold(Memo *m, size_t &at, size_t end) {
  for (const Word *word = m->words.data(); at < end; at++)
    if (__builtin_expect(*word[at].address != word[at].value, 0) && !memo_reads_hold(m, at)) return false;
  return true;
}

static bool memo_holds(Memo *m, void *const *key, size_t n_keys) {
  if (m->key.size() != n_keys || !std::equal(key, key + n_keys, m->key.begin())) return false;
  size_t at = 0;
  for (const SeenType &seen : m->types)
    if (!words_hold(m, at, seen.before) || seen.type->tp_version_tag != seen.version) return false;
  if (!words_hold(m, at, m->words.size())) return false;
  for (const SeenTensor &seen : m->tensors)
    if (!same_tensor(seen)) return false;
  const int64_t *layout = m->layouts.data();
  for (const WeftTensor *t : m->laid_out)
    if (!same_layout(t, layout)) return false;
  return true;
}

// The same word is read many times in a walk (one dictionary, many keys): keep the first of each, and of each type.
static void keep_first(Memo *m) {
  std::vector<Word> &words = m->words;
  std::vector<std::pair<const uint64_t *, uint32_t>> order;
  order.reserve(words.size());
  for (size_t i = 0; i < words.size(); i++) order.push_back({words[i].address, (uint32_t)i});
  std::sort(order.begin(), order.end());
  std::vector<uint32_t> first(words.size()), place(words.size() + 1); // of each its first, and how many are kept before it
  for (size_t i = 0; i < order.size(); i++)
    first[order[i].second] = i && order[i].first == order[i - 1].first ? first[order[i - 1].second] : order[i].second;
  uint32_t n = 0;
  for (size_t i = 0; i < words.size(); i++) {
    place[i] = n;
    if (first[i] == i) words[n++] = words[i];
  }
  place[words.size()] = n;
  for (SeenKey &read : m->reads) read.word = place[first[read.word]];
  words.resize(n);
  words.shrink_to_fit();
  std::vector<SeenType> types;
  for (const SeenType &seen : m->types)
    if (std::none_of(types.begin(), types.end(), [&seen](const SeenType &t) { return t.type == seen.type; }))
      types.push_back({seen.type, seen.version, place[seen.before]});
  m->types.swap(types);
  memo_settle_reads(m);
}

// What the memo's words leave open. Python may run, and change or replace the memo.
static bool run_again(GuardProgram *p, Walk &w, const std::vector<uint32_t> &which) {
  w.fixed_done = p->fixed->size();
  for (uint32_t i : which) {
    Instr &in = (*p->fixed)[i];
    if (!step(w, in)) return false;
    if (in.op < OP_TYPE_IS) w.owned.items.push_back(Py_NewRef(w.regs[in.dst]));
  }
  return true;
}

// Noting a walk costs about twice the walk, and is lost on roots that are new objects in each call. A hit pays for two
// walks; who has used up the credit walks without notes, but for every 64th time.
static bool worth_remembering(GuardProgram *p) {
  constexpr int kRetry = 64;
  return p->credit > 0 || ++p->unremembered % kRetry == 0;
}

static bool run_fixed(GuardProgram *p, Walk &w) {
  constexpr size_t kMaxKeys = 16; // with more roots than this most guards are on arguments, which are checked anyway
  constexpr int kMaxCredit = 256;
  size_t n = 0;
  void *key[kMaxKeys];
  if (p->key_regs->size() + 2 > kMaxKeys) return run(*p->fixed, w, w.fixed_done);
  for (uint16_t r : *p->key_regs) key[n++] = w.regs[r];
  if (p->key_function) {
    key[n++] = w.func->func_globals;
    key[n++] = w.func->func_closure;
  }
  uintptr_t hash = 0;
  for (size_t i = 0; i < n; i++) hash = (hash ^ ((uintptr_t)key[i] >> 4)) * 0x9E3779B97F4A7C15ull;
  if (p->memos->empty()) p->memos->resize(kMemoSlots);
  static_assert(kMemoSlots == 64, "six bits of the hash choose the slot");
  Memo *memo = (*p->memos)[hash >> 58];
  if (memo && memo_holds(memo, key, n)) {
    std::copy(memo->regs.begin(), memo->regs.end(), w.regs + p->fixed_first);
    p->hits++;
    p->credit = std::min(p->credit + 2, kMaxCredit);
    return memo->again.empty() || run_again(p, w, std::vector<uint32_t>(memo->again));
  }
  p->walks++;
  if (!worth_remembering(p)) return run(*p->fixed, w, w.fixed_done);
  p->credit--;
  Memo fresh;
  if (!walk(p, w, &fresh)) {
    memo_clear(&fresh);
    return false;
  }
  keep_first(&fresh);
  fresh.key.assign(key, key + n);
  fresh.regs.assign(w.regs + p->fixed_first, w.regs + p->fixed_first + p->fixed_count);
  for (uint32_t i : fresh.again)
    if ((*p->fixed)[i].op < OP_TYPE_IS) fresh.regs[(*p->fixed)[i].dst - p->fixed_first] = NULL;
  Memo *&target = (*p->memos)[hash >> 58]; // reading attributes may have run Python
  if (!target) target = new Memo;
  std::swap(*target, fresh);
  memo_clear(&fresh);
  return true;
}

static inline bool tensor_argument_is(const TensorArgument &t, PyObject *o) {
  if (!o || (PyObject *)Py_TYPE(o) != t.type) return false;
  const WeftTensor *have = (const WeftTensor *)o;
  if ((have->word & t.mask) != t.word) return false;
  const int64_t *sizes = t.dims, *strides = t.dims + t.ndim;
  for (int i = 0; i < t.ndim; i++) {
    if (sizes[i] != have->sizes[i] && sizes[i] != INT64_MIN) return false;
    if (strides[i] != have->strides[i] && strides[i] != INT64_MIN) return false;
  }
  return true;
}

// Whether the look-ups on the one class of `fixed` are known to stand.
static inline bool sole_class_stands(const GuardProgram *p) {
  return p->sole_class && p->sole_version && p->sole_class->tp_version_tag == p->sole_version;
}

// What is behind the first `done` instructions of `live`.
__attribute__((noinline)) static bool check_rest(GuardProgram *p, size_t first, PyObject *const *args, PyFunctionObject *func,
                                                 PyObject **regs, Owned &owned) {
  Walk w{p, regs, args, func, owned};
  if (!run(*p->live, w, w.live_done, first)) return false;
  if (!p->fixed->empty()) {
    if (!p->sole_class) {
      if (!run_fixed(p, w)) return false;
    } else if (!sole_class_stands(p)) {
      if (!run(*p->fixed, w, w.fixed_done)) return false;
      p->sole_version = p->sole_class->tp_version_tag; // the look-ups have given it one
    }
  }
  size_t done;
  return (p->last->empty() || run(*p->last, w, done)) && !p->dead;
}

bool guard_check(GuardProgram *p, PyObject *const *args, PyFunctionObject *func, PyObject **regs, Owned &owned) {
  if (p->dead) return false;
  size_t done = 0;
  for (const TensorArgument &t : *p->tensors) {
    PyObject *o = args[t.arg];
    if (__builtin_expect(!tensor_argument_is(t, o), 0)) {
      p->failed = (*p->live)[done + (o != NULL)].guard;
      return false;
    }
    regs[t.dst] = o;
    done += 2;
  }
  if (p->has_ambient) {
    if (__builtin_expect((*weft->ambient() & p->ambient_mask) != p->ambient, 0)) {
      p->failed = (*p->live)[done].guard;
      return false;
    }
    done++;
  }
  if (sole_class_stands(p)) regs[(*p->fixed)[0].dst] = (PyObject *)p->sole_class;
  if (done == p->live->size() && p->last->empty() && (p->fixed->empty() || sole_class_stands(p))) return true;
  return check_rest(p, done, args, func, regs, owned);
}
