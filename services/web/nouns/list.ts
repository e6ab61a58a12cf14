import type { Resource } from '../resources/declaration.ts'
import { llmConnections } from './llm-connections.ts'
import { schedules } from './schedules.ts'
import { webhooks } from './webhooks.ts'

/** What people and programs set, each declared once. */
export const NOUNS: readonly Resource[] = [schedules, webhooks, llmConnections]
