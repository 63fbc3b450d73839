// node_index.h: which nodes a walk has met, and where each stands among its tasks.
#ifndef WEFT_NODE_INDEX_H
#define WEFT_NODE_INDEX_H

#include <vector>

#include "node.h"

namespace weft {

// Node* → index of its task; open addressing, since a walk looks up every edge.
class NodeIndex {
 public:
  NodeIndex() : slots_(64) {}
  // The node's index, or `fresh` after inserting it.
  uint32_t find_or_insert(WeftNode *node, uint32_t fresh) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot &slot = probe(node);
    if (!slot.node) {
      slot = {node, fresh};
      count_++;
    }
    return slot.index;
  }
  int64_t find(WeftNode *node) {
    Slot &slot = probe(node);
    return slot.node ? (int64_t)slot.index : -1;
  }

 private:
  struct Slot {
    WeftNode *node = nullptr;
    uint32_t index = 0;
  };
  Slot &probe(WeftNode *node) {
    size_t mask = slots_.size() - 1, i = (reinterpret_cast<uintptr_t>(node) >> 4) * 0x9E3779B97F4A7C15ull >> 20 & mask;
    while (slots_[i].node && slots_[i].node != node) i = (i + 1) & mask;
    return slots_[i];
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (Slot &slot : old)
      if (slot.node) probe(slot.node) = slot;
  }
  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace weft
#endif
