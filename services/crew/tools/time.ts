import { answer, toolError } from './tool.ts'
import type { CrewTool } from './tool.ts'

/** Creates the tool that tells the time. */
export const createTime = (name: string): CrewTool => ({
  name,
  key: name,
  type: 'time',
  description: 'Tells the current date and time, in UTC and in a time zone.',
  parameters: {
    type: 'object',
    properties: {
      timezone: { type: 'string', description: 'An IANA time zone, such as Europe/Berlin' },
    },
    additionalProperties: false,
  },
  timeoutMs: 1000,
  async call({ arguments: { timezone = 'UTC' } }) {
    return answer(JSON.stringify(describeTime(new Date(), String(timezone))))
  },
})

/** Describes a time in a time zone. Raises an error for a zone that does not exist. */
export function describeTime(now: Date, timeZone: string) {
  const parts = (options: Intl.DateTimeFormatOptions): string => {
    try {
      return new Intl.DateTimeFormat('sv-SE', { timeZone, ...options }).format(now)
    } catch {
      const shown = timeZone.slice(0, 64)
      throw toolError(`${shown} is no time zone. Use a name such as Europe/Berlin, or UTC.`)
    }
  }
  const local = parts({ dateStyle: 'short', timeStyle: 'medium' })
  const weekday = new Intl.DateTimeFormat('en', { timeZone, weekday: 'long' }).format(now)
  return { utc: now.toISOString(), timezone: timeZone, local, weekday }
}
