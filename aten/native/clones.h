// clones.h: plain loops that the compiler makes vectors of, once for each instruction set; which runs is decided as the module is
// loaded. Products are rounded before they are added (-ffp-contract=off holds here too): all have the same bits.
#ifndef WEFT_CLONES_H
#define WEFT_CLONES_H

#define WEFT_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), optimize("O3")))

#endif
