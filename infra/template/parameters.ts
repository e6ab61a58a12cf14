import { Val } from './expression.ts'
import type { Entries, Expression } from './expression.ts'
import { whole } from './operators.ts'

/** References to the parameters of a named template, shaped like what is given for them. */
// `relative` follows what is given key by key.
export const parametersLike = <P extends object>(given: P): P => relative(given, []) as P

function relative(given: object, path: readonly string[]): object {
  if (given instanceof Val) return new Val(parameter(given, path), given.kind)
  const members = Object.entries(given).map(
    ([key, member]: [string, object]) => [key, relative(member, [...path, key])] as const,
  )
  return Object.fromEntries(members)
}

function parameter({ expression, kind }: Val<unknown>, path: readonly string[]): Expression {
  const like = expression.op === 'reference' ? expression : {}
  return { ...like, op: 'reference', path, kind, isParameter: true }
}

/** What is given, a group as the one map that it is. */
export const argumentsOf = (given: object): Entries =>
  Object.fromEntries(
    Object.entries(given).map(([key, value]: [string, object]) => [
      key,
      (value instanceof Val ? value : whole(value)).expression,
    ]),
  )
