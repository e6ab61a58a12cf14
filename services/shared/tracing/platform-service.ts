/**
 * Returns the name of a service of the platform as its spans have it, `service.name`: no program of
 * a user is called that by chance, as it may be called `web`.
 */
export const platformService = (service: 'web' | 'worker'): string => `crew-platform-${service}`
