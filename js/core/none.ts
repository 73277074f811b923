/** "none", and "all" where a lane is asked for. */
export const NONE = 0xffff_ffff
