interface Said {
  readonly role: string
  readonly text: string
}

const NUMBER_WORDS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
const POINTS = 3

/** Sentences that fit any subject. */
const REMARKS = [
  (subject: string) => `Agree on a definition of ${subject} first: most disputes are about words.`,
  (subject: string) =>
    `The numbers on ${subject} differ by source: compare two before relying on one.`,
  (subject: string) => `Cost and time decide about ${subject} more often than quality does.`,
  (subject: string) => `Who gains from ${subject} and who pays are seldom the same people.`,
  (subject: string) => `What is only assumed about ${subject} belongs on a list of its own.`,
]

/**
 * A short text about the last message of a conversation: always the same for the same words, and
 * made of them.
 */
export function composeAnswer(messages: readonly Said[]): string {
  const asked =
    messages.findLast(({ role }) => role === 'user')?.text ?? messages.at(-1)?.text ?? ''
  const task = firstLine(section(asked, 'Task') ?? asked)
  const expected = firstLine(section(asked, 'Expected output') ?? '')
  if (/crew definition/i.test(expected)) return asDefinition(asked)
  const context = section(asked, 'Context from earlier tasks')
  const subject = subjectOf(task)
  const isProse = /paragraph|sentence[^s]|summary|briefing|reply|words/i.test(expected)
  const body = isProse
    ? REMARKS.map((remark) => remark(subject)).join(' ')
    : asList(subject, countOf(expected))
  const source = context === undefined ? [] : [`It builds on: ${shorten(heading(context), 120)}.`]
  const results = messages.filter(({ role }) => role === 'tool')
  const found = results.map(
    ({ text }) => `A tool answered: ${shorten(text.trim().replaceAll(/\s+/g, ' '), 160)}`,
  )
  const note = 'Written by the built-in demo model from the words of the prompt alone.'
  return [task, body, ...found, ...source, note].join('\n\n')
}

/** Returns the text after `Name:`, up to the next empty line or the next heading of the prompt. */
function section(text: string, name: string): string | undefined {
  const start = text.indexOf(`${name}:`)
  if (start < 0) return undefined
  const rest = text.slice(start + name.length + 1).trimStart()
  const end = rest.search(/\n\n(Expected output:|Context from earlier tasks:|Answer with )/)
  return end < 0 ? rest : rest.slice(0, end)
}
const firstLine = (text: string): string => shorten(text.trim().split('\n')[0] ?? '', 160)

function heading(context: string): string {
  const [first = ''] = context.trim().split('\n')
  return first.replace(/^#+\s*/, '')
}

function shorten(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1).trimEnd()}…`
}

/** `Collect five findings about heat pumps.` is about heat pumps. */
function subjectOf(task: string): string {
  const named = /\b(?:about|on|of|to|for|from)\s+([^.:;!?]{3,80})/i.exec(task)?.[1]
  return named?.trim() ?? (shorten(task.replace(/[.:;!?].*$/s, ''), 80) || 'this')
}

/** What the Assistant is asked for: a crew of one agent, with a model that it may use. */
function asDefinition(asked: string): string {
  const [, request = ''] = /request:\n([^\n]+)/.exec(asked) ?? []
  const [, model = 'demo'] = /The models that it may use: ([^\n,]+)/.exec(asked) ?? []
  const agent = { key: 'writer', role: 'Writer', goal: 'Write about {topic} in plain words' }
  const task = {
    key: 'write',
    agent: 'writer',
    description: `${shorten(request.replaceAll(/[{}]/g, ''), 200)} The topic: {topic}.`,
    expected_output: 'One paragraph',
  }
  const crew = { name: 'Drafted crew', llm: { model }, agents: [agent], tasks: [task] }
  return JSON.stringify(crew, null, 2)
}

function countOf(expected: string): number {
  const digits = /\d+/.exec(expected)?.[0]
  const word = NUMBER_WORDS.findIndex((each) => new RegExp(`\\b${each}\\b`, 'i').test(expected))
  const asked = digits === undefined ? word + 1 : Number(digits)
  return asked > 0 ? Math.min(asked, REMARKS.length) : POINTS
}

function asList(subject: string, count: number): string {
  const remarks = Array.from({ length: count }, (_, index) => REMARKS[index % REMARKS.length])
  return remarks.map((remark, index) => `${index + 1}. ${remark?.(subject)}`).join('\n')
}
