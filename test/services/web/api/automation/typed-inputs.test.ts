import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../../services/platform/automations/automations.ts'
import { parseCrewDefinition } from '../../../../../services/platform/definitions/crew-definition.ts'
import {
  inputFields,
  resolveInputs,
} from '../../../../../services/platform/definitions/crew-inputs.ts'
import {
  exampleInputs,
  inputsSchema,
} from '../../../../../services/platform/definitions/input-schema.ts'
import { findRun } from '../../../../../services/platform/runs/runs.ts'
import { isObject } from '../../../../../services/shared/is-object.ts'
import { definition } from '../../../../support/crew.ts'
import { deployAutomation } from '../../../../support/platform.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, SignedInUser } from '../../support/platform.ts'

const inputs = [
  'topic',
  { name: 'tone', label: 'Tone', description: 'Of voice.', enum: ['plain', 'formal', 3] },
  { name: 'words', type: 'integer', default: 200, enum: [100, 200] },
  { name: 'draft', type: 'boolean', required: false },
  { name: 'title', type: 'string' },
]
const crew = parseCrewDefinition({ ...definition, inputs })

let platform: Platform
let ada: SignedInUser
let automation: Automation
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
  const { organizationId } = platform.acme
  automation = await deployAutomation(platform.sql, organizationId, { slug: 'typed', crew })
  token = await platform.issueToken(platform.acme, automation.id)
})

afterAll(() => platform.close())

const apiPath = (path: string) => `/platform/api/v1/crew/${automation.automationId}/${path}`
const call = (path: string, body?: object) =>
  platform.app.request(apiPath(path), {
    method: body ? 'POST' : 'GET',
    body: body ? JSON.stringify(body) : null,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })

const pathOfPage = () => `/automations/${automation.automationId}`

const ajv = new Ajv2020({ strict: false, validateFormats: false })

describe('typed inputs of an automation', () => {
  it('are in the answer of GET inputs, with all that is declared', async () => {
    expect(await (await call('inputs')).json()).toEqual({
      inputs: ['topic', 'tone', 'words', 'draft', 'title'],
      fields: [
        { name: 'topic', required: true },
        {
          name: 'tone',
          label: 'Tone',
          description: 'Of voice.',
          enum: ['plain', 'formal', 3],
          required: true,
        },
        { name: 'words', type: 'integer', default: 200, enum: [100, 200], required: false },
        { name: 'draft', type: 'boolean', required: false },
        { name: 'title', type: 'string', required: true },
      ],
    })
  })

  it('are checked at a kickoff, which says what is allowed', async () => {
    const given = { topic: 'tides', tone: 'rude', words: 150, title: 'T' }
    const refused = await call('kickoff', { inputs: given })
    expect(refused.status).toBe(422)
    expect(await readObject(refused)).toMatchObject({
      message: 'tone must be one of "plain", "formal", 3. words must be one of 100, 200.',
      details: {
        invalid_inputs: [
          { name: 'tone', problem: 'must be one of "plain", "formal", 3' },
          { name: 'words', problem: 'must be one of 100, 200' },
        ],
      },
    })
    const taken = await call('kickoff', { inputs: { topic: 'tides', tone: 3, title: 'T' } })
    expect(taken.status).toBe(202)
  })

  it('are described by the OpenAPI document of the automation', async () => {
    const document = await readObject(await call('openapi.json'))
    expect(document).toMatchObject({ info: { title: 'typed' }, servers: [{ url: BASE_URL }] })
    expect(Object.keys(Object(document['paths']))).toContain(apiPath('kickoff'))
    ajv.addSchema({ $id: 'one', components: document['components'] })
    const validate = ajv.compile({ $ref: 'one#/components/schemas/KickoffRequest' })
    const good = { topic: 'tides', tone: 'plain', title: 'T' }
    expect(validate({ inputs: good })).toBe(true)
    for (const bad of [{ tone: 'rude' }, { words: 150 }, { title: ' ' }, { more: 1 }]) {
      expect(validate({ inputs: { ...good, ...bad } })).toBe(false)
    }
    const post = Object(document['paths'])[apiPath('kickoff')].post
    expect(validate(post.requestBody.content['application/json'].example)).toBe(true)
    const anonymous = await platform.app.request(apiPath('openapi.json'))
    expect(anonymous.status).toBe(401)
  })

  it('are described as they are checked', () => {
    const fields = inputFields(crew)
    const validate = ajv.compile(inputsSchema(fields))
    const any = fc.oneof(fc.constantFrom('', ' ', 100, true, null), fc.jsonValue({ maxDepth: 1 }))
    const of = (...good: unknown[]) => fc.oneof(fc.constantFrom(...good), any)
    const given = fc.record(
      {
        topic: any,
        tone: of('plain', 'formal', 3, '3'),
        words: of(100, 200, 150),
        draft: of(true, false),
        title: of('T'),
        more: any,
      },
      { requiredKeys: [] },
    )
    const isTaken = (value: Record<string, unknown>): boolean => {
      try {
        return isObject(resolveInputs(crew, value))
      } catch {
        return false
      }
    }
    fc.assert(
      fc.property(given, (value) => {
        fc.pre(!JSON.stringify(value).includes(String.raw`\u0000`))
        expect(validate(value)).toBe(isTaken(value))
      }),
    )
    expect(isTaken(exampleInputs(fields))).toBe(true)
  })

  it('are fields of the form, with choices, and come back as they were chosen', async () => {
    const shown = await platform.app.request(pathOfPage(), { headers: { cookie: ada.cookie } })
    const form = (await shown.text()).replace(/\s+/g, ' ')
    const option = (value: string, rest = '') =>
      new RegExp(`<option value="${value}" ${rest}> `).test(form)
    expect(form).toMatch(/<select name="input.tone" required> <option value="" selected>–/)
    expect([option('plain'), option('formal'), option('3')]).toEqual([true, true, true])
    expect(form).toMatch(/<select name="input.words" > <option value="" ?>–/)
    expect(option('200', 'selected')).toBe(true)
    expect(form).toMatch(/<select name="input.draft" > <option value="" selected>–/)
    expect(form).toContain('<span class="hint">Of voice.</span>')
    const send = (fields: Record<string, string>) =>
      platform.app.request(`${pathOfPage()}/executions`, {
        method: 'POST',
        body: new URLSearchParams({ csrf_token: ada.csrfToken, ...fields }),
        headers: { cookie: ada.cookie },
      })
    const good = { 'input.topic': 'tides', 'input.title': 'T', 'input.words': '100' }
    const refused = await send({ ...good, 'input.tone': 'rude', 'input.draft': 'false' })
    expect(refused.status).toBe(422)
    const again = (await refused.text()).replace(/\s+/g, ' ')
    expect(again).toContain('tone must be one of &quot;plain&quot;, &quot;formal&quot;, 3.')
    expect(again).toMatch(/<option value="100" selected>/)
    const started = await send({ ...good, 'input.tone': '3', 'input.draft': 'false' })
    const id = started.headers.get('location')?.split('/').at(-1) ?? ''
    expect((await findRun(platform.sql, automation.id, id))?.inputs).toEqual({
      topic: 'tides',
      tone: 3,
      words: 100,
      draft: false,
      title: 'T',
    })
  })
})
