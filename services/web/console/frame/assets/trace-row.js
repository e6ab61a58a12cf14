// A row of the tree of a trace: an icon, a name, numbers, and a bar on the time axis.

export const ERROR = 1
export const CRITICAL = 2
const ODD = 4
const AXIS = 1000
const INDENT_MAX = 16
const SVG = 'http://www.w3.org/2000/svg'

export const grouped = new Intl.NumberFormat('en')

function nsText(ns) {
  const decimal = (number) => (number < 100 ? number.toFixed(1) : number.toFixed(0))
  if (ns < 1000) return `${Math.round(ns)} ns`
  if (ns < 1e6) return `${decimal(ns / 1e3)} µs`
  if (ns < 1e9) return `${decimal(ns / 1e6)} ms`
  const ms = ns / 1e6
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function element(name, className, text) {
  const made = document.createElement(name)
  if (className) made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  return made
}

const kindNames = new Map(
  [...document.querySelectorAll('.trace-tools [name=kind] option')].map((option) => [
    option.value,
    option.textContent.trim(),
  ]),
)

function kindIcon(kind) {
  const icon = element('span', `kind ${kind}`)
  icon.title = kindNames.get(kind) ?? kind
  const svg = drawn('svg', { class: 'icon', 'aria-hidden': 'true', focusable: 'false' })
  svg.append(drawn('use', { href: `#kind-${kind}` }))
  icon.append(svg, element('span', 'unseen', icon.title))
  return icon
}

function nameOf(row, isCollapsed) {
  const name = element('span', `span-name d${Math.min(row.depth, INDENT_MAX)}`)
  const twist = element('span', row.below > 0 ? 'twist' : 'twist none')
  if (row.below > 0) twist.dataset.twist = isCollapsed ? 'closed' : 'open'
  name.append(twist, kindIcon(row.kind), element('span', 'text', row.name))
  if (row.label !== null) name.append(element('span', 'quiet', row.label))
  if (isCollapsed) name.append(element('span', 'depth', `+${grouped.format(row.below)}`))
  if (row.flags & ERROR) name.append(element('span', 'flag bad', 'Error'))
  if (row.flags & ODD) name.append(element('span', 'flag waiting', 'Note'))
  return name
}

function barOf(row, length) {
  const scale = AXIS / (length || 1)
  const x = Math.min(AXIS - 2, row.start * scale)
  const end = row.duration === null ? AXIS : (row.start + row.duration) * scale
  const isOpen = row.duration === null ? ' open' : ''
  const isCritical = row.flags & CRITICAL ? ' critical' : ''
  const svg = drawn('svg', {
    viewBox: `0 0 ${AXIS} 10`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  })
  svg.append(
    drawn('rect', {
      class: `bar ${row.kind}${isOpen}${isCritical}`,
      x: x.toFixed(1),
      width: Math.max(2, Math.min(AXIS, end) - x).toFixed(1),
      height: '10',
    }),
  )
  return svg
}

export function rowElement(row, { length, isCollapsed, isSelected }) {
  const made = element('div', row.flags & ERROR ? 'tree-row bad' : 'tree-row')
  made.id = `row-${row.id}`
  made.setAttribute('role', 'treeitem')
  made.setAttribute('aria-level', String(row.depth + 1))
  made.setAttribute('aria-selected', String(isSelected))
  if (row.below > 0) made.setAttribute('aria-expanded', String(!isCollapsed))
  const duration = row.duration === null ? 'running' : nsText(row.duration)
  const axis = element('span', 'axis')
  axis.append(barOf(row, length))
  made.append(
    nameOf(row, isCollapsed),
    element('span', 'number', row.tokens === null ? '' : grouped.format(row.tokens)),
    element('span', 'number', duration),
    axis,
  )
  return made
}

export function ticks(length) {
  const made = element('span', 'axis axis-times')
  for (let tick = 0; tick <= 4; tick++)
    made.append(element('span', '', tick === 0 ? '0' : nsText((length * tick) / 4)))
  return made
}
