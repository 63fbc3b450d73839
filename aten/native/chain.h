// chain.h: several elementwise loops over the same elements as one pass, in blocks that stay in the cache.
#ifndef WEFT_CHAIN_H
#define WEFT_CHAIN_H

#include "op.h"

namespace weft {

// The rule of composites made of elementwise ops: a call whose kinds of arguments have been learned (aten/chains.py) runs its chain.
PyObject *fast_chain(Call &call);
PyObject *fast_inplace_chain(Call &call);  // of the op `name_`
extern PyMethodDef chain_functions[];

}  // namespace weft
#endif
