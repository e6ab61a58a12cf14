/** What a call of a model may answer where nothing limits it, for budgets. */
export const OUTPUT_TOKENS_ASSUMED = 4096
/** What a call may be asked where its crew does not say, for budgets. */
export const INPUT_TOKENS_ASSUMED = 8192
