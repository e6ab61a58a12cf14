import type { Context, Hono } from 'hono'
import {
  addTraceNote,
  deleteTraceNote,
  RATINGS,
  TRACE_NOTE_MAX,
  TRACE_NOTES_MAX,
} from '../../../platform/traces/trace-notes.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { readerOf } from './reader-of.ts'
import { getTraceId } from '../../traces/trace-place.ts'
import { createRoom } from '../frame/room.ts'

/** Adds and deletes what people say of a trace. */
export function traceNoteRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {
    'note-added': 'The note is added.',
    'note-deleted': 'The note is deleted.',
  })
  const path = '/traces/:traceId/notes'

  room.form('editor', path, async (c) => {
    const traceId = getTraceId(c)
    const { id: authorId, organizationId } = c.var.session.user
    const { traces } = await readerOf(c, deps).list(new URLSearchParams({ trace: traceId }))
    if (traces.length === 0) throw new AppError('not_found', NO_TRACE)
    const said = { authorId, ...readNote(c.var.form) }
    if (!(await addTraceNote(sql, { organizationId, traceId }, said)))
      throw new AppError(
        'conflict',
        `This trace has ${TRACE_NOTES_MAX} notes already; no more are kept.`,
      )
    return back(c, 'note-added')
  })

  room.form('editor', `${path}/:noteId/delete`, async (c) => {
    const id = c.req.param('noteId') ?? ''
    const isId = /^\d{1,15}$/.test(id)
    const isDeleted = isId && (await deleteTraceNote(sql, c.var.session.user, Number(id)))
    if (!isDeleted) throw new AppError('not_found', NO_NOTE)
    return back(c, 'note-deleted')
  })

  return room.routes
}

function back(c: Context<SignedIn>, notice: string): Response {
  const list = (c.var.form.get('list') ?? '').slice(0, LIST_MAX) || undefined
  return c.redirect(`/traces/${getTraceId(c)}${queryOf({ list, notice })}`, 303)
}

function readNote(form: URLSearchParams) {
  const note = (form.get('note') ?? '').replaceAll('\r\n', '\n').replaceAll('\0', '').trim()
  const rating = RATINGS.find((each) => each === form.get('rating')) ?? null
  if (note.length > TRACE_NOTE_MAX) {
    throw new AppError(
      'invalid_request',
      `A note has at most ${TRACE_NOTE_MAX} characters (given: ${note.length}). Go back and ` +
        'shorten it.',
    )
  }
  if (note !== '' || rating !== null) return { note, rating }
  throw new AppError('invalid_request', 'Go back and choose a rating, or write a note.')
}

const LIST_MAX = 4000
const NO_TRACE = 'Your organization has no such trace, or it has expired.'
const NO_NOTE = 'You have no such note, or it is deleted already.'
