// The page of a trace: the tree, the span beside it, search, keys, and a trace that still grows.

import {
  atOf,
  createList,
  fill,
  filterBy,
  nextError,
  parentAt,
  rowAt,
  selectedAt,
  setCollapsed,
  uncover,
} from './trace-list.js'
import { element } from './trace-row.js'
import { createView, draw, redraw, showSelected } from './trace-view.js'

const LOAD_AFTER_MS = 90
const SEARCH_AFTER_MS = 300
const SEARCHED_MIN = 3
const POLL_MS = 3000
const ANSWER_MS = 15000

const root = document.querySelector('[data-trace]')
const announcer = document.getElementById('announcer')
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function ask(path) {
  const response = await fetch(path, { signal: AbortSignal.timeout(ANSWER_MS) })
  if (!response.ok || response.redirected) throw new Error(String(response.status))
  return response
}

// The span beside the tree -------------------------------------------------

/** Returns what shows a span; while keys are held down only the last one is read. */
function createPanel(place, path) {
  let timer
  let wanted
  async function load(id) {
    place.setAttribute('aria-busy', 'true')
    try {
      const text = await (await ask(`${path}/spans/${id}`)).text()
      if (id !== wanted) return
      const parsed = new DOMParser().parseFromString(text, 'text/html')
      place.replaceChildren(...parsed.body.childNodes)
      place.scrollTop = 0
      place.dispatchEvent(new CustomEvent('content-added', { bubbles: true }))
      announcer.textContent = place.querySelector('h2')?.textContent ?? ''
    } catch {
      const failed = element('p', 'hint', 'This span cannot be read now.')
      if (id === wanted) place.replaceChildren(failed)
    }
    place.removeAttribute('aria-busy')
  }
  return (id) => {
    wanted = id
    clearTimeout(timer)
    timer = setTimeout(() => void load(id), LOAD_AFTER_MS)
  }
}

function keepInAddress(id) {
  const address = new URL(location.href)
  address.searchParams.set('span', id)
  address.hash = ''
  history.replaceState(null, '', address)
}

// Keys ---------------------------------------------------------------------

const KEYS = [
  ['j or ↓', 'the next span'],
  ['k or ↑', 'the span before'],
  ['→', 'open, or the first span below'],
  ['←', 'close, or the span above'],
  ['Enter', 'read the span'],
  ['Esc', 'back to the tree'],
  ['/', 'find'],
  ['e', 'the next error'],
  ['?', 'these keys'],
]

function createHelp() {
  const dialog = element('dialog', 'card keys')
  const keys = element('dl', 'pairs')
  for (const [key, what] of KEYS) {
    const pair = element('div')
    pair.append(element('dt', '', key), element('dd', '', what))
    keys.append(pair)
  }
  const close = element('button', 'button small', 'Close')
  close.type = 'button'
  close.addEventListener('click', () => dialog.close())
  const title = element('h2', '', 'Keys')
  title.id = 'keys-title'
  dialog.setAttribute('aria-labelledby', title.id)
  dialog.append(title, keys, close)
  document.body.append(dialog)
  return dialog
}

const STEPS = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 15, PageUp: -15 }

/** What each key does, with the list, the view and what selects a row. */
function actionsOf({ list, select, toggle, goTo, find, beside, help }) {
  const current = () => rowAt(list, selectedAt(list))
  const isOpen = (row) => row.below > 0 && !list.collapsed.has(row.id)
  return {
    ArrowRight() {
      const row = current()
      if (row && list.collapsed.has(row.id)) toggle(row)
      else if (row?.below > 0) select(selectedAt(list) + 1)
    },
    ArrowLeft() {
      const row = current()
      if (row && isOpen(row)) toggle(row)
      else if (row) select(parentAt(list, selectedAt(list)))
    },
    Home: () => select(0),
    End: () => select(list.listed.length - 1),
    Enter: () => beside.focus(),
    e: () => goTo(nextError(list)?.id),
    '/': () => find.focus(),
    '?': () => help.showModal(),
  }
}

function listenToKeys({ list, view, select, help, ...others }) {
  const actions = actionsOf({ list, select, help, ...others })
  document.addEventListener('keydown', (event) => {
    const { key, target } = event
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return
    if (key === 'Escape') return view.tree.focus()
    if (target.closest('input, select, textarea')) return
    // Arrows and Enter are those of whatever has the focus.
    if (key.length > 1 && !view.tree.contains(target)) return
    if (key in STEPS) {
      select(Math.max(0, Math.min(list.listed.length - 1, selectedAt(list) + STEPS[key])))
    } else if (key in actions) actions[key]()
    else return
    event.preventDefault()
  })
}

// Search -------------------------------------------------------------------

function readFilter({ elements: { kind, depth, errors, q } }) {
  return {
    kind: kind.value || undefined,
    depth: Number(depth.value) || undefined,
    errors: errors.checked,
    text: q.value.trim().toLowerCase() || undefined,
  }
}

/** Names are found at once, what spans say by a question to the server. */
function createSearch(path, form, show) {
  let latest = 0
  return async function search() {
    const turn = ++latest
    const filter = readFilter(form)
    show(filter)
    if (!filter.text || filter.text.length < SEARCHED_MIN) return
    await pause(SEARCH_AFTER_MS)
    if (turn !== latest) return
    try {
      const query = new URLSearchParams({ q: filter.text })
      const { ids, isComplete } = await (await ask(`${path}/search?${query}`)).json()
      if (turn !== latest) return
      show({ ...filter, found: new Set(ids) })
      if (!isComplete) announcer.textContent = 'There may be more than what was found.'
    } catch {
      announcer.textContent = 'Only names were searched.'
    }
  }
}

// --------------------------------------------------------------------------

/** Grows the tree until the trace has its end. */
async function follow(path, first, show) {
  let text = first
  while (root.dataset.open) {
    await pause(POLL_MS)
    if (document.hidden) continue
    try {
      const next = await (await ask(`${path}/rows`)).text()
      if (next === text) continue
      text = next
      const trace = JSON.parse(next)
      show(trace)
      // The sums above are the server's.
      if (trace.rows[0]?.[6] !== null) location.reload()
    } catch {
      // The next answer may come.
    }
  }
}

function placeOfTree() {
  const place = root.querySelector('.tree-view')
  if (place) return place
  const made = element('div', 'tree-view')
  root.querySelector('.trace-tree .nothing').replaceWith(made)
  return made
}

function createTree(place, loadSpan) {
  const list = createList()
  const view = createView(place)
  const select = (at) => {
    const row = rowAt(list, at)
    if (!row) return
    list.selected = row.id
    showSelected(view, list)
    keepInAddress(row.id)
    loadSpan(row.id)
  }
  const toggle = (row) => {
    if (setCollapsed(list, row, !list.collapsed.has(row.id))) redraw(view, list)
  }
  const goTo = (id) => {
    if (id === undefined) return
    uncover(list, id)
    redraw(view, list)
    select(atOf(list, id))
  }
  view.scroller.addEventListener('scroll', () => requestAnimationFrame(() => draw(view, list)))
  new ResizeObserver(() => draw(view, list)).observe(view.scroller)
  view.tree.addEventListener('click', ({ target }) => {
    const id = target.closest('.tree-row')?.id.slice('row-'.length)
    if (id === undefined) return
    if (target.closest('[data-twist]')) toggle(rowAt(list, atOf(list, id)))
    else select(atOf(list, id))
  })
  return { list, view, select, toggle, goTo }
}

async function openTrace() {
  const path = root.dataset.trace
  const beside = root.querySelector('.trace-span')
  const form = root.querySelector('.trace-tools')
  const first = await (await ask(`${path}/rows`)).text()
  for (const each of root.querySelectorAll('[data-without-script]')) each.hidden = true
  root.classList.add('live')
  const tree = createTree(placeOfTree(), createPanel(beside, path))
  const { list, view } = tree
  const show = (trace) => {
    fill(list, trace)
    redraw(view, list)
  }
  const showFiltered = (filter) => {
    filterBy(list, filter)
    view.scroller.scrollTop = 0
    redraw(view, list)
  }
  fill(list, JSON.parse(first))
  list.selected = beside.querySelector('[data-span]')?.dataset.span
  showFiltered(readFilter(form))
  showSelected(view, list)
  const search = createSearch(path, form, showFiltered)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void search()
  })
  form.addEventListener('input', () => void search())
  listenToKeys({ ...tree, beside, find: form.elements.q, help: createHelp() })
  void follow(path, first, show)
}

if (root) void openTrace()
