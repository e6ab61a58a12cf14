/** Why a value is not what its field needs. */

/** The reason and the field, by their numbers; 0 for none. */
export let problem: u32 = 0

/** Whether there was any in the body. */
export let isAnyWrong: bool = false

/** Begins with another body. */
export function clearProblems(): void {
  problem = 0
  isAnyWrong = false
}

/** Sets the problem at hand. */
@inline
export function setProblem(value: u32): void {
  problem = value
}

/** Notes that the value of a field is wrong. */
export function wrong(field: u32, reason: u32): void {
  problem = (reason << 8) | field
  isAnyWrong = true
}
