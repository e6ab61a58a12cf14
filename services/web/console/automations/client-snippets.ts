import { readFileSync } from 'node:fs'
import type { Inputs } from '../../../platform/definitions/input-declarations.ts'
import { shellWord } from '../../../shared/shell-word.ts'

/** The automation that the programs call, and the client that calls it. */
interface SnippetTarget {
  readonly apiUrl: string
  /** Values for a reader to replace. */
  readonly inputs: Inputs
  /** Undefined: OAuth is off for this organization. */
  readonly oauth:
    | {
        readonly clientId: string
        readonly scope: string
        /** Undefined: neither discovery nor a member has named it. */
        readonly tokenUrl: string | undefined
      }
    | undefined
}

/** A program that starts a run, ready to be copied. */
export interface Snippet {
  readonly title: string
  /** The variables that it reads from the environment, and the packages that it imports. */
  readonly needs: string
  readonly text: string
}

type Language = 'sh' | 'mjs' | 'py'
type Values = Readonly<Record<string, string | { readonly inputs: Inputs }>>

interface Program {
  readonly title: string
  readonly needs: string
  readonly file: `${string}.${Language}`
}

const SECRET = 'CLIENT_SECRET'
const KEY = 'PRIVATE_KEY_FILE (a PEM file) and KEY_ID'

const STATIC_TOKEN_PROGRAMS: readonly Program[] = [
  { title: 'Static token, Node', needs: 'TOKEN', file: 'static-token.mjs' },
  { title: 'Static token, Python', needs: 'TOKEN', file: 'static-token.py' },
]

/** One for each way in which a client proves itself; an assertion lives for 300 s (SPEC 5.2.4). */
const OAUTH_PROGRAMS: readonly Program[] = [
  { title: 'OAuth with a client secret, curl', needs: SECRET, file: 'client-secret.sh' },
  { title: 'OAuth with a client secret, Node', needs: SECRET, file: 'client-secret.mjs' },
  { title: 'OAuth with a client secret, Python', needs: SECRET, file: 'client-secret.py' },
  { title: 'OAuth with a private key, curl and openssl', needs: KEY, file: 'private-key.sh' },
  { title: 'OAuth with a private key, Node', needs: KEY, file: 'private-key.mjs' },
  {
    title: 'OAuth with a private key, Python',
    needs: `${KEY}; pip install "pyjwt[crypto]"`,
    file: 'private-key.py',
  },
]

/** Returns the programs for one automation. */
export type SnippetsFor = (target: SnippetTarget) => readonly Snippet[]

/**
 * Reads the programs of the folder `snippets`, and returns what fills them in: those with a static
 * token, and those with OAuth where it is on (SPEC 4.4, 4.5).
 */
export function createSnippets(): SnippetsFor {
  const folder = new URL('./snippets/', import.meta.url)
  const read = (program: Program) => ({
    ...program,
    template: readFileSync(new URL(program.file, folder), 'utf8').trimEnd(),
  })
  const withStaticToken = STATIC_TOKEN_PROGRAMS.map(read)
  const withOauth = OAUTH_PROGRAMS.map(read)
  return (target) => {
    const programs = target.oauth ? [...withStaticToken, ...withOauth] : withStaticToken
    const values = valuesOf(target)
    return programs.map(({ title, needs, file, template }) => ({
      title,
      needs,
      text: fill(template, values, literalIn(file)),
    }))
  }
}

function valuesOf({ apiUrl, inputs, oauth }: SnippetTarget): Values {
  const call = { KICKOFF_URL: `${apiUrl}/kickoff`, BODY: { inputs } }
  if (!oauth) return call
  const { clientId, scope, tokenUrl } = oauth
  return {
    ...call,
    CLIENT_ID: clientId,
    CLIENT_ID_IN_URL: encodeURIComponent(clientId),
    SCOPE: scope,
    SCOPE_FIELD: `scope=${scope}`,
    TOKEN_URL: tokenUrl ?? 'https://idp.example/oauth2/v1/token',
  }
}

/** Puts the values in the place of `__NAME__`, each as a literal of the program's language. */
const fill = (template: string, values: Values, toLiteral: (value: unknown) => string): string =>
  template.replaceAll(/__([A-Z_]+)__/g, (_, name: string) => toLiteral(values[name]))

/** A JSON text is a literal of JavaScript and of Python as well. */
const literalIn = (file: Program['file']): ((value: unknown) => string) =>
  file.endsWith('.sh') ? toShellWord : JSON.stringify

const toShellWord = (value: unknown): string =>
  shellWord(typeof value === 'string' ? value : JSON.stringify(value))
