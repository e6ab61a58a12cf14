import { group, string } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** The mails with links for people. */
export const mail = group('Mails with invitations and links to a new password.', {
  smtpSecret: type.objectName(
    'Secret of your own whose key `SMTP_URL` holds the address of the mail server, such as ' +
      '`smtps://user:password@mail.example.com:465`. Empty means that the pages alone show links.',
  ),
  from: string('', 'Sender. Empty means `crew-platform@` and the host of web.', {
    pattern: /^([^\s@<>,;:"]+@[^\s@<>,;:"]+)?$/,
    expected: 'an address such as crews@example.com, or ""',
  }),
})
