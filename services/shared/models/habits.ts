import { createHash } from 'node:crypto'
import type { LlmApi } from './llm-call.ts'
import type { Habit } from './corrections.ts'

/** Those that were learned first are forgotten, and are learned again. */
const HABITS_MAX = 1000

/** What identifies an endpoint for a model: what one key is told holds for no other one. */
interface HabitKey {
  readonly baseUrl: string
  readonly apiKey?: string | undefined
  readonly api: LlmApi
  readonly model: string
}

/** What the endpoints of a process have asked for, so that each is asked once. */
export interface Habits {
  find(key: HabitKey): Habit
  learn(key: HabitKey, habit: Habit): void
}

/** Remembers what endpoints have asked for, for as long as the process lives. */
export function createHabits(): Habits {
  const known = new Map<string, Habit>()
  return {
    find: (key) => known.get(digest(key)) ?? firstHabit(key.api),
    learn(key, habit) {
      const [oldest] = known.keys()
      if (oldest !== undefined && known.size >= HABITS_MAX) known.delete(oldest)
      known.set(digest(key), habit)
    },
  }
}

const firstHabit = (api: LlmApi): Habit => ({
  form: api === 'auto' ? 'chat_completions' : api,
  areToolsUnreasoned: false,
  isUnsealed: false,
  isWithoutTiers: false,
})

const digest = ({ baseUrl, apiKey = '', api, model }: HabitKey): string =>
  createHash('sha256')
    .update(JSON.stringify([baseUrl, apiKey, api, model]))
    .digest('base64')
