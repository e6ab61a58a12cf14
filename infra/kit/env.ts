import type * as k8s from '../k8s.ts'
import { isObject } from '../template/json.ts'
import { not } from '../template/operators.ts'
import type { Condition, In } from '../template/operators.ts'
import { mapMember, part } from '../template/parts.ts'
import { noted, When, when } from '../template/structure.ts'
import type { Templated } from '../template/structure.ts'
import { caVariable } from './ca-bundle.ts'

/** The source of a variable's value. */
type Source = In<string> | Reference

/** A value that Kubernetes looks up. */
export interface Reference {
  readonly valueFrom: Templated<k8s.EnvVarSource>
}

/** One source while a condition holds, another one otherwise. */
interface Choice {
  readonly condition: Condition
  readonly yes: Source
  readonly no: Source
}

interface Unset {
  readonly isUnset: true
}

/** States that a variable is not set: the service's own default holds, or the operator's value. */
export const unset: Unset = { isUnset: true }

/**
 * The variables of a service, by the type of its environment: every one of them, optional ones too.
 * A variable that is missing here does not compile, nor does one that the service does not know.
 * Only a variable that it can do without may be conditional or `unset`.
 */
export type VariablesOf<Env> = {
  readonly [Name in keyof Env]-?:
    | Source
    | Choice
    | (undefined extends Env[Name] ? When<Source> | Unset : never)
}

type Variable = Source | Choice | When<Source> | Unset

type EnvVars = readonly Templated<k8s.EnvVar>[]

/** The `env` of a container that runs one of our services. */
export function env<Env>(given: NoInfer<VariablesOf<Env>>): EnvVars {
  return [...variables(given), ...nodeEnv()]
}

const nodeEnv = part(
  { name: 'platform.nodeEnv', comment: 'The options of every program of Node.js.' },
  () => [
    noted(
      "Name look-ups block one thread each: with Node's four, a slow DNS server would stall the " +
        'verification of tokens.',
      { name: 'UV_THREADPOOL_SIZE', value: '16' },
    ),
    caVariable,
  ],
)

/** The entries of some variables. */
export const variables = (given: Readonly<Record<string, Variable>>): EnvVars =>
  Object.entries(given).flatMap(([name, variable]) =>
    mapMember(variable, (one) => entriesOf(name, one)),
  )

function entriesOf(name: string, variable: Variable): EnvVars {
  if (isUnset(variable)) return []
  const entry = (source: Source) => {
    if (isReference(source)) return { name, valueFrom: source.valueFrom }
    // The server keeps no empty value: it would differ with each apply.
    return source === '' ? { name } : { name, value: source }
  }
  if (variable instanceof When) return [when<k8s.EnvVar>(variable.condition, entry(variable.inner))]
  if (!isChoice(variable)) return [entry(variable)]
  const { condition, yes, no } = variable
  return [when<k8s.EnvVar>(condition, entry(yes)), when<k8s.EnvVar>(not(condition), entry(no))]
}

const isReference = (source: Source): source is Reference =>
  isObject(source) && 'valueFrom' in source

const isUnset = (variable: Variable): variable is Unset =>
  isObject(variable) && 'isUnset' in variable

const isChoice = (variable: Source | Choice): variable is Choice =>
  isObject(variable) && 'condition' in variable

/** One value while a condition holds, another one otherwise. */
export const choose = (condition: Condition, yes: Source, no: Source): Choice => ({
  condition,
  yes,
  no,
})

/** A variable that is set while a condition holds. */
export const setWhen = (condition: Condition, source: Source): When<Source> =>
  new When(condition, source)

/** A field of the pod itself. */
export const podField = (fieldPath: string): Reference => ({
  // As the server completes it, so that an apply changes nothing.
  valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } },
})
