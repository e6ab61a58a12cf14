import { Val } from './expression.ts'
import type { About, Kind } from './expression.ts'
import { lift } from './operators.ts'
import type { In, Scalar, TextMap } from './operators.ts'
import { argumentsOf, parametersLike } from './parameters.ts'

interface Named extends About {
  /** Its text can only be letters, digits and dashes. */
  readonly isName?: true
}

/** Gives an expression a name in `_helpers.tpl`; templates then include it. */
export const helper = <T>(named: Named, { expression, kind }: Val<T>): Val<T> =>
  new Val<T>({ op: 'helper', ...named, body: expression }, kind)

/** The same for an expression with parameters, which are symbolic values or groups of them. */
export const helperWith =
  <P extends object, T>(named: Named, build: (parameters: P) => Val<T>) =>
  (parameters: P): Val<T> => {
    const { expression, kind } = build(parameters)
    const { expression: body } = build(parametersLike(parameters))
    const parametrized = { body, given: argumentsOf(parameters) }
    return new Val<T>({ op: 'helper', ...named, body: expression, parametrized }, kind)
  }

/** A known text where a symbolic one is asked for. */
export const literal = <T extends Scalar>(value: T): Val<T> =>
  new Val<T>({ op: 'literal', value }, kindOfScalar(value))

function kindOfScalar(value: Scalar): Kind {
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'number' ? 'number' : 'string'
}

/** A set of fixed entries, and those of a map, that templates include by name. */
export const labelSet = (
  about: About,
  entries: Readonly<Record<string, In<string>>>,
  more?: TextMap,
): TextMap => {
  const lifted = Object.entries(entries).map(([key, value]) => [key, lift(value)] as const)
  const set = { op: 'labels', ...about, entries: Object.fromEntries(lifted) } as const
  return new Val(more ? { ...set, more: more.expression } : set, 'map')
}
