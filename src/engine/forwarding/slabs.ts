/** Where received frames lie in frame memory: one slab a message, each with room for the largest there is. */

export const SLABS = 64;
export const SLAB_LENGTH = 65_536;
/** Not a power of two: else the starts of all slabs would share one set of the processor's cache. */
export const SLAB_STRIDE = SLAB_LENGTH + 5 * 64;
export const SLABS_LENGTH = SLABS * SLAB_STRIDE;
/** What devices may make within a turn: changed copies of a batch in several forms. */
export const WORKSPACE_LENGTH = 4 * 1024 * 1024;
/** Slabs and workspace: what frames lie in. */
export const FRAMES_LENGTH = SLABS_LENGTH + WORKSPACE_LENGTH;
