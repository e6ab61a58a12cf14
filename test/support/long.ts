/** Asked for the long form of a test: `npm run test:long`, alone, with `browser` or `crews`. */
export const isLong = ['FUZZ_RUNS', 'BROWSER', 'CREWS'].some(
  (name) => process.env[name] !== undefined,
)

/** All cases in the long form, and in the short one the first of each kind. */
export function firstOfEach<Case>(
  cases: readonly Case[],
  kindOf: (each: Case, index: number) => unknown,
): readonly Case[] {
  if (isLong) return cases
  const kinds = cases.map(kindOf)
  return cases.filter((_, index) => kinds.indexOf(kinds[index]) === index)
}

/** All cases in the long form, and in the short one the first of them. */
export const few = <Case>(cases: readonly Case[], count: number): readonly Case[] =>
  isLong ? cases : cases.slice(0, count)
