/** The field that carries the CSRF token of a form. */
export const CSRF_FIELD = 'csrf_token'
