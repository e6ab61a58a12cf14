/** Messages of a side, and parts of a message, beyond these are left out. */
export const MAX_MESSAGES = 1000
/** The depth of wrappers around a message. */
export const MAX_WRAPPERS = 6
