import { createHash } from 'node:crypto'
import { FlattenedSign } from 'jose'
import { createSigningKeys } from '../../../platform/connections/make-signing-keys.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import { exampleInputs } from '../../../platform/definitions/input-schema.ts'
import { asTool } from '../../../platform/automations/automation-tools.ts'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import type { WebDeps } from '../../context.ts'
import { automationUrl } from '../automation/automation-urls.ts'
import { MCP_SCOPES } from '../mcp/door.ts'

/** The version of the protocol that is spoken here. */
export const VERSION = '1.0'
/** Where the public keys are that cards are signed with. */
export const KEYS_PATH = '/a2a/keys'
const KEY_MS = 60_000
const KEYS = {
  table: 'card_keys',
  label: 'crew-platform agent card key',
  algorithm: 'ES256',
} as const

/** Signs agent cards. */
export interface Cards {
  /** Returns the public keys, as a set of JWKs has them. */
  readonly published: () => Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Returns a card with its signature (A2A 1.0 §8.4), and a text that changes with the card. */
  readonly sign: (card: object) => Promise<{ readonly card: object; readonly tag: string }>
}

/** Creates the signer of cards, with keys of the installation. */
export function createCards({ sql, log, config }: WebDeps): Cards {
  const { SECRET_KEY_BASE: current, SECRET_KEY_BASE_PREVIOUS: previous } = config
  const keys = createSigningKeys({ sql, log, current, previous }, KEYS)
  const jku = config.PLATFORM_BASE_URL + KEYS_PATH
  let known = { until: 0, signing: keys.forSigning }

  /** Anybody may ask for cards, so that not each of them is to cost a look at the database. */
  async function signingKey() {
    if (performance.now() < known.until) return known.signing()
    const key = await keys.forSigning()
    known = { until: performance.now() + KEY_MS, signing: async () => key }
    return key
  }

  return {
    published: keys.published,
    async sign(card) {
      const { kid, key } = await signingKey()
      const payload = Buffer.from(canonicalJson(card))
      const header = { alg: KEYS.algorithm, typ: 'JOSE', kid, jku }
      const jws = await new FlattenedSign(payload).setProtectedHeader(header).sign(key)
      const { protected: protectedHeader, signature } = jws
      const tag = createHash('sha256').update(payload).update(kid).digest('base64url')
      return { card: { ...card, signatures: [{ protected: protectedHeader, signature }] }, tag }
    },
  }
}

const TEXT = 'text/plain'
const JSON_TYPE = 'application/json'

/**
 * Builds the card that anybody may read. It is the same for all automations, and for those that
 * there are not: nobody learns from it which ones exist.
 */
export function publicCard(config: WebDeps['config'], automationId: string) {
  return {
    name: `Automation ${automationId}`,
    description:
      'Runs an automation. Its extended agent card, for callers with a token of it, has its ' +
      'name and its inputs.',
    version: config.PLATFORM_VERSION,
    ...partsOfAll(config, automationId),
    defaultInputModes: [JSON_TYPE, TEXT],
    skills: [
      {
        id: 'run',
        name: 'Run the automation',
        description: 'Starts a run with the inputs of a message, and answers with its output.',
        tags: ['automation'],
      },
    ],
  }
}

/** Builds the card for those who may start an automation. */
export function extendedCard(
  config: WebDeps['config'],
  automation: Automation,
  definition: CrewDefinition,
) {
  const { automationId, name, slug, projectVersionId } = automation
  const fields = inputFields(definition)
  const described = fields.map(describeField).join('\n')
  const description =
    asTool({ ...automation, definition }).description +
    (described === '' ? '' : `\nInputs, as the members of a data part:\n${described}`)
  const takesText = fields.some(({ type }) => type === undefined || type === 'string')
  return {
    name,
    description,
    version: String(projectVersionId),
    ...partsOfAll(config, automationId),
    defaultInputModes: [JSON_TYPE, ...(takesText ? [TEXT] : [])],
    skills: [
      {
        id: slug,
        name,
        description,
        tags: ['automation'],
        examples: [JSON.stringify(exampleInputs(fields))],
      },
    ],
  }
}

/** No member is empty, or has the default of its type: those are left out of what is signed. */
function partsOfAll(config: WebDeps['config'], automationId: string) {
  const url = `${automationUrl(config, automationId)}/a2a`
  return {
    supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
      url,
      protocolBinding,
      protocolVersion: VERSION,
    })),
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    securitySchemes: {
      bearer: {
        httpAuthSecurityScheme: {
          scheme: 'Bearer',
          description:
            'A static token with the scopes kickoff and read, an access token of the identity ' +
            'provider of the organization, or a token that a workload was given for its own.',
        },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [...MCP_SCOPES] } } }],
    defaultOutputModes: [TEXT, JSON_TYPE],
  }
}

function describeField({ name, type, description, required, default: value }: InputField): string {
  const facts = [type ?? 'any', required && value === undefined ? 'required' : 'optional']
  return `- ${name} (${facts.join(', ')})${description === undefined ? '' : `: ${description}`}`
}
