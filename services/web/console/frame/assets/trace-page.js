// The page of a trace: the tree, the span beside it, search, keys, and a trace that still grows.

import {
  atOf,
  closeAll,
  createList,
  fill,
  filterBy,
  nearestListed,
  rowAt,
  selectedAt,
  setCollapsed,
  uncover,
} from './trace-list.js'
import { closedBelow, createHelp, listenToKeys } from './trace-keys.js'
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

/**
 * Returns what shows a span; while keys are held down only the last one is read. How messages are
 * shown stays from span to span.
 */
function createPanel(place, path) {
  let timer
  let wanted
  let isPlain = new URL(location.href).searchParams.get('as') === 'text'
  async function load(id) {
    place.setAttribute('aria-busy', 'true')
    try {
      const text = await (await ask(`${path}/spans/${id}${isPlain ? '?as=text' : ''}`)).text()
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
  place.addEventListener('click', (event) => {
    const { target, ctrlKey, metaKey, shiftKey } = event
    const format = target.closest('[data-as]')?.dataset.as
    const id = place.querySelector('[data-span]')?.dataset.span
    if (!format || !id || ctrlKey || metaKey || shiftKey) return
    event.preventDefault()
    isPlain = format === 'text'
    keepInAddress({ as: isPlain ? format : undefined })
    wanted = id
    void load(id).then(() => place.querySelector(`[data-as="${format}"]`)?.focus())
  })
  return (id) => {
    wanted = id
    clearTimeout(timer)
    timer = setTimeout(() => void load(id), LOAD_AFTER_MS)
  }
}

function keepInAddress(parameters) {
  const address = new URL(location.href)
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) address.searchParams.delete(name)
    else address.searchParams.set(name, value)
  }
  address.hash = ''
  history.replaceState(null, '', address)
}

// Search -------------------------------------------------------------------

/** What the form says is closed: a number of levels, or a kind. */
const closedBy = ({ elements: { depth, fold } }) => {
  const isDeep = closedBelow(Number(depth.value))
  return (row) => isDeep(row) || row.kind === fold.value
}

function readFilter({ elements: { kind, critical, errors, q } }) {
  return {
    kind: kind.value || undefined,
    critical: critical.checked,
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
    keepInAddress({ span: row.id })
    loadSpan(row.id)
  }
  const toggle = (row) => {
    if (setCollapsed(list, row, !list.collapsed.has(row.id))) redraw(view, list)
  }
  const close = (change) => {
    change()
    // Who is within what was closed goes to what is closed.
    if (list.selected !== undefined && selectedAt(list) < 0) {
      list.selected = nearestListed(list, list.selected)
    }
    redraw(view, list)
    showSelected(view, list)
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
  return { list, view, select, toggle, goTo, close }
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
  // Between the steps of this the page can answer: a large trace has 50,000 rows.
  const trace = JSON.parse(first)
  await pause(0)
  fill(list, trace)
  await pause(0)
  list.selected = beside.querySelector('[data-span]')?.dataset.span
  closeAll(list, closedBy(form))
  showFiltered(readFilter(form))
  showSelected(view, list)
  const search = createSearch(path, form, showFiltered)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void search()
  })
  form.addEventListener('input', ({ target }) => {
    if (target.matches('[name=depth], [name=fold]')) {
      tree.close(() => closeAll(list, closedBy(form)))
    } else void search()
  })
  listenToKeys({ ...tree, beside, find: form.elements.q, help: createHelp() })
  void follow(path, first, show)
}

if (root) void openTrace()
