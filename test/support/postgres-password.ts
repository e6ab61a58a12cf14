/** Of the servers that tests start. */
export const POSTGRES_PASSWORD = 'a-password-of-the-tests'
