import { isObject } from '../../../shared/is-object.ts'
import { REASONING_EFFORTS } from '../../../shared/models/llm-call.ts'
import type { ReasoningEffort } from '../../../shared/models/llm-call.ts'
import { PROVIDER_NAMES, providerOf } from '../../connections/llm-providers.ts'
import { isOff, isPython, kindOf } from './fields.ts'
import type { Field } from './fields.ts'
import { PYTHON } from './report.ts'
import type { Place, Report } from './report.ts'

/** A model as a crew definition names it. */
export interface ImportedModel {
  readonly model: string
  readonly temperature?: number
  readonly max_tokens?: number
  readonly reasoning_effort?: ReasoningEffort
}

/** The model of an agent that names none. */
export const DEFAULT_MODEL = 'gpt-4.1-mini'

const CONNECTION = 'Enter it under LLM connections, for the model of this agent.'
/** Keys of a model that belong to its connection, and are never shown. */
const OF_CONNECTION = [
  'api_key',
  'base_url',
  'api_base',
  'api_version',
  'endpoint',
  'deployment_name',
  'aws_access_key_id',
  'aws_secret_access_key',
  'region_name',
  'headers',
  'extra_headers',
  'default_headers',
]
const HARMLESS = ['timeout', 'max_retries', 'stream', 'num_retries', 'drop_params', 'is_litellm']

/** Reads a model: `provider/model`, or an object with the key `model`. */
export function readModel(field: Field | undefined, report: Report): ImportedModel | undefined {
  if (field === undefined || isOff(field.value)) return undefined
  const { value } = field
  if (typeof value === 'string') return { model: withoutProvider(value, field, report) }
  if (isObject(value) && !isPython(value)) return readSettings(value, field, report)
  const what = isPython(value) ? PYTHON : `It is ${kindOf(value)}.`
  report.refuse(field, `A model is named by a text such as openai/gpt-4o. ${what}`)
  return undefined
}

function readSettings(
  value: Readonly<Record<string, unknown>>,
  field: Field,
  report: Report,
): ImportedModel | undefined {
  const { model = value['deployment_name'] ?? value['model_name'], provider, ...others } = value
  if (typeof model !== 'string' || model === '') {
    report.refuse(field, 'This model has no text for model.')
    return undefined
  }
  const name = typeof provider === 'string' && provider !== '' ? `${provider}/${model}` : model
  const number = (key: string) => readSetting(key, others, { field, report })
  const temperature = number('temperature')
  const max_tokens = number('max_tokens') ?? number('max_completion_tokens')
  const reasoning_effort = readEffort(others['reasoning_effort'], field, report)
  reportSettings(others, field, report)
  return {
    model: withoutProvider(name, field, report),
    ...(temperature === undefined ? {} : { temperature }),
    ...(max_tokens === undefined ? {} : { max_tokens }),
    ...(reasoning_effort === undefined ? {} : { reasoning_effort }),
  }
}

const TAKEN = [
  'temperature',
  'max_tokens',
  'max_completion_tokens',
  'reasoning_effort',
  'model_name',
  'deployment_name',
]

function readSetting(
  name: string,
  settings: Readonly<Record<string, unknown>>,
  { field, report }: { field: Field; report: Report },
): number | undefined {
  const value = settings[name]
  if (typeof value === 'number' || value === undefined || value === null) return value ?? undefined
  const place = { file: field.file, key: `${field.key}.${name}` }
  report.refuse(place, `This must be a number; it is ${kindOf(value)}.`)
  return undefined
}

function readEffort(value: unknown, field: Field, report: Report): ReasoningEffort | undefined {
  if (value === undefined || value === null) return undefined
  const effort = REASONING_EFFORTS.find((each) => each === value)
  if (effort !== undefined) return effort
  const place = { file: field.file, key: `${field.key}.reasoning_effort` }
  const given = typeof value === 'string' ? value.slice(0, 40) : kindOf(value)
  report.refuse(place, `This must be one of ${REASONING_EFFORTS.join(', ')}; it is ${given}.`)
  return undefined
}

function reportSettings(settings: object, field: Field, report: Report): void {
  for (const [name, value] of Object.entries(settings)) {
    const place = { file: field.file, key: `${field.key}.${name}` }
    if (TAKEN.includes(name) || isOff(value)) continue
    if (OF_CONNECTION.includes(name)) report.leaveOut(place, CONNECTION)
    else if (HARMLESS.includes(name)) report.note(place, 'The platform decides this itself.')
    else
      report.leaveOut(
        place,
        'Of a model only its name, temperature, max_tokens and reasoning_effort are set.',
      )
  }
}

/** Models are known by the name that their provider has for them. */
function withoutProvider(name: string, place: Place, report: Report): string {
  const [prefix = '', ...rest] = name.split('/')
  const { name: provider } = providerOf(prefix)
  if (rest.length === 0 || !PROVIDER_NAMES.includes(provider)) return name
  const model = rest.join('/')
  if (provider !== 'openai') {
    report.note(
      place,
      `The model ${model} is one of ${provider}. Runs need an LLM connection for it, with that ` +
        'provider.',
    )
  }
  return model
}
