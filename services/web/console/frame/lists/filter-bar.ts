import { html } from 'hono/html'
import type { Html } from '../parts.ts'
import type { QueryKeys } from '../../../../shared/query-terms.ts'

/** A field of the filter of a list; without options a text or a day is typed. */
interface FilterField {
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  /** Values and their names; the first one is no choice. */
  readonly options?: readonly (readonly [value: string, name: string])[]
  readonly type?: 'date' | 'search'
  /** What may be typed beside a text. */
  readonly keys?: QueryKeys
}

/**
 * The filter of a list: a form that is sent by GET, so that each choice has an address. On a phone
 * its first field is in sight.
 */
export const filterBar = (
  path: string,
  [foremost, ...others]: readonly [FilterField, ...FilterField[]],
  /** What the address says besides. */
  kept: Readonly<Record<string, string>> = {},
): Html =>
  html`<form class="card list-filter" role="search" aria-label="Filter" action="${path}">
    ${Object.entries(kept).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    <div class="row">
      ${typed(foremost)} ${filterFold(others.some(({ value }) => value !== undefined))}
      ${others.map((each) => (each.options ? choice(each) : typed(each)))}
      <button class="button primary">Show</button>
      <a class="button" href="${path}">Reset</a>
    </div>
  </form>`

/** Folds what is beside it in a filter on a phone, but for the button that sends it. */
export const filterFold = (isOpen: boolean): Html =>
  html`<details class="more filter-fold" ${isOpen ? 'open' : ''}>
    <summary>Filters</summary>
  </details>`

const choice = ({ name, label, value = '', options = [] }: FilterField): Html =>
  html`<label
    >${label}
    <select name="${name}">
      ${options.map(
        ([each, text]) =>
          html`<option value="${each}" ${each === value ? 'selected' : ''}>${text}</option>`,
      )}
    </select>
  </label>`

const typed = ({ name, label, value = '', type = 'search', keys }: FilterField): Html =>
  html`<label class="${type === 'search' ? 'grow' : ''}"
    >${label}
    <input
      type="${type}"
      name="${name}"
      value="${value}"
      maxlength="100"
      autocomplete="off"
      ${keys ? html`list="query-keys"` : ''}
    />
    ${keys ? keyList(keys) : ''}
  </label>`

/** The keys that a query box proposes. */
export const keyList = ({ equal, above }: QueryKeys): Html =>
  html`<datalist id="query-keys">
    ${Object.keys(equal).map((key) => html`<option value="${key}:"></option>`)}
    ${Object.keys(above).map((key) => html`<option value="${key}>"></option>`)}
  </datalist>`

const TEXT_LENGTH_MAX = 100

/** Reads a text of an address; undefined for an empty one. */
export const readText = (text: string | undefined): string | undefined =>
  (text ?? '')
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, TEXT_LENGTH_MAX) || undefined
