import { html } from 'hono/html'
import * as v from 'valibot'
import {
  createModelPrice,
  deleteModelPrice,
  findModelPrice,
  listModelPrices,
  listOwnPrices,
  MODEL_PRICES_MAX,
  updateModelPrice,
} from '../../platform/budgets/model-prices.ts'
import type { ModelPrice, ModelPriceFields } from '../../platform/budgets/model-prices.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { AppError } from '../../shared/errors.ts'
import { isDay, MAX_PER_MILLION, plainModel } from '../../shared/prices/price-table.ts'
import { someText } from '../../shared/schemas.ts'
import { text, words } from '../resources/controls.ts'
import type { Control } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call, State, Values } from '../resources/declaration.ts'
import { nameField } from './name-text.ts'
import { organization } from './organization.ts'

const NAME_MAX = 100
const MODELS_MAX = 50
const MODEL_MAX = 256

/** Dollars, with a point. What is no number stays text, so that the schema refuses it. */
const dollars = (isOptional: boolean): Control => {
  const typed = text({ max: 20, isMono: true, ...(isOptional && { isOptional }) })
  return {
    ...typed,
    read(form, name) {
      const given = typed.read(form, name)
      return typeof given === 'string' && /^\d+(\.\d+)?$/.test(given) ? Number(given) : given
    },
  }
}

/** Some are needed, unlike of other words. */
const modelNames = text({ max: 2500, isMono: true })

const amountProblem = `must be US dollars from 0 to ${MAX_PER_MILLION}`
const amount = v.pipe(
  v.number(amountProblem),
  v.finite(amountProblem),
  v.minValue(0, amountProblem),
  v.maxValue(MAX_PER_MILLION, amountProblem),
)
/** The price of a kind of tokens that is part of another. */
const part = (label: string, of: 'input' | 'output') =>
  field(v.optional(v.nullable(amount), null), {
    label,
    hint: `Part of the ${of}. Without a price of its own it costs as much.`,
    control: dollars(true),
  })

const day = v.optional(
  v.nullable(
    v.pipe(v.string('must be a text'), v.check(isDay, 'must be a day such as 2026-11-22')),
  ),
  null,
)
const dayControl = text({ max: 10, isMono: true, isOptional: true })

const fields = {
  name: nameField(NAME_MAX, { example: 'Contract of 2026' }),
  models: field(
    v.pipe(
      v.array(
        v.pipe(
          someText(MODEL_MAX),
          v.regex(/^[^\s\p{Cc}\p{Cs},]+$/u, 'must have no spaces, commas or control characters'),
        ),
        'must be a list of texts',
      ),
      v.minLength(1, 'must name a model'),
      v.maxLength(MODELS_MAX, `must have at most ${MODELS_MAX} models`),
    ),
    {
      label: 'Models',
      hint:
        'As calls name them, separated by spaces. What stands before the last slash does not ' +
        'count. With @flex behind it, a name has the price of that service tier.',
      control: { ...words, render: (shown, typed) => modelNames.render(shown, typed) },
      example: ['gpt-4o'],
    },
  ),
  from: field(day, {
    label: 'From',
    hint: 'The first day, in UTC. Where several apply, the one that began last counts.',
    control: dayControl,
    example: '2026-01-01',
  }),
  until: field(day, {
    label: 'Until',
    hint: 'The day after the last one. Without one, it has no end.',
    control: dayControl,
    example: '2027-01-01',
  }),
  input: field(amount, {
    label: 'Input',
    hint: 'US dollars for a million tokens',
    control: dollars(false),
    example: 2.5,
  }),
  output: field(amount, {
    label: 'Output',
    hint: 'US dollars for a million tokens',
    control: dollars(false),
    example: 10,
  }),
  cached: part('Input read from the cache', 'input'),
  cache_write: part('Input written to the cache', 'input'),
  audio_input: part('Audio in the input', 'input'),
  reasoning: part('Reasoning', 'output'),
  audio_output: part('Audio in the output', 'output'),
}

function values({ perMillion, ...price }: ModelPriceFields): Values<typeof fields> {
  return {
    name: price.name,
    models: [...price.models],
    from: price.begins,
    until: price.ends,
    input: perMillion.input,
    output: perMillion.output ?? 0,
    cached: perMillion.cached ?? null,
    cache_write: perMillion.cache_write ?? null,
    audio_input: perMillion.audio_input ?? null,
    reasoning: perMillion.reasoning ?? null,
    audio_output: perMillion.audio_output ?? null,
  }
}

function read(given: Values<typeof fields>): ModelPriceFields {
  const { name, models, from: begins, until: ends, input, output, ...parts } = given
  if (begins !== null && ends !== null && ends <= begins) {
    throw new AppError('unprocessable', `A price cannot end (${ends}) before it begins.`)
  }
  const entered = Object.entries(parts).filter(([, price]) => price !== null)
  return {
    name: name.trim(),
    models: [...new Set(models.map(plainModel))],
    begins,
    ends,
    perMillion: { input, output, ...Object.fromEntries(entered) },
  }
}

/** The collector has to know a change before it is committed: it would show other costs. */
async function sendPrices({ sql, deps, owner }: Call<Organization>): Promise<void> {
  await deps.sendPrices?.(owner.id, await listOwnPrices(sql, owner.id))
}

/** What models cost the organization by its own contracts. */
export const prices = resource<Organization, ModelPriceFields, ModelPrice, typeof fields>({
  kind: 'price',
  id: 'uuid',
  under: organization('/budgets', [{ path: '/budgets', name: 'Budgets' }]),
  most: MODEL_PRICES_MAX,
  fields,
  values,
  facts: {},
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: ({ sql, owner }) => listModelPrices(sql, owner.id),
    find: ({ sql, owner }, id) => findModelPrice(sql, { id, organizationId: owner.id }),
    read: async (_, given) => read(given),
    async create(call, given) {
      const row = await createModelPrice(call.sql, call.owner.id, given)
      await sendPrices(call)
      return { row }
    },
    async change(call, row, given) {
      const isThere = await updateModelPrice(call.sql, row, given)
      await sendPrices(call)
      return isThere
    },
    async remove(call, row) {
      await deleteModelPrice(call.sql, row)
      await sendPrices(call)
    },
  },
  actions: {},
  words: {
    about:
      'A price says what models cost your organization. It takes precedence over list prices: in ' +
      'budgets at once, and in traces for calls that arrive from now on.',
    icon: 'gauge',
    form: 'Price',
    saved: 'The price is saved.',
    deleted: 'The price is deleted. Its models have their list prices again.',
    deletes: 'Its models have their list prices again, or none. Costs that are known stay.',
  },
  name: ({ name }) => name,
  state: stateOf,
  columns: [
    { title: 'Name', cell: ({ name }) => html`<span class="break">${name}</span>` },
    {
      title: 'Models',
      className: 'row-wide',
      cell: ({ models }) => html`<span class="mono break">${models.join(', ')}</span>`,
    },
    { title: 'Input', cell: ({ perMillion }) => `$${perMillion.input}` },
    { title: 'Output', cell: ({ perMillion }) => `$${perMillion.output ?? 0}` },
    {
      title: 'Days',
      className: 'quiet row-wide',
      cell: ({ begins, ends }) =>
        [begins && `from ${begins}`, ends && `until ${ends}`].filter(Boolean).join(' ') || 'all',
    },
  ],
})

function stateOf({ begins, ends }: ModelPrice): State {
  const today = new Date().toISOString().slice(0, 10)
  if (ends !== null && ends <= today) return ['idle', 'Ended']
  return begins !== null && begins > today ? ['waiting', 'Later'] : ['good', 'Applies']
}
