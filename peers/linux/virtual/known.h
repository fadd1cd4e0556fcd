/*
 * Random numbers of a known sequence in place of the kernel's, for modules of qdiscs that are built with
 * this file in front: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), as the crate's `Random`. Its state is the
 * module's parameter `known`, so a case begins with the draws that ours begins with.
 */
#ifndef KNOWN_H
#define KNOWN_H

#include <linux/module.h>
#include <linux/random.h>
#include <linux/string.h>

static unsigned long long known_state;
module_param_named(known, known_state, ullong, 0644);

static inline u64 known_next(void)
{
	u64 mixed = known_state += 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
	return mixed ^ (mixed >> 31);
}

static inline void known_bytes(void *to, size_t len)
{
	u64 next = known_next();

	memcpy(to, &next, min(len, sizeof(next)));
}

#define get_random_bytes(to, len) known_bytes(to, len)

#endif
