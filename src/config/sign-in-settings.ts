/** Settings of people who sign in as themselves. */
import { z } from 'zod';
import { about } from './setting-about.js';
import { text } from './values.js';

const group = 'Sign-in';
const onOff = z.enum(['on', 'off'], { error: 'expected on or off' });

function isWebAddress(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, pathname, search, hash, username } = new URL(value);
  return /^https?:$/.test(protocol) && pathname === '/' && search + hash + username === '';
}

function isMailServer(value: string): boolean {
  return URL.canParse(value) && /^smtps?:$/.test(new URL(value).protocol) && new URL(value).hostname !== '';
}

export const signInSettings = {
  publicUrl: text()
    .refine(isWebAddress, { error: 'expected an address such as https://dns.example.org' })
    .transform((value) => new URL(value).origin)
    .optional()
    .register(about, {
      group,
      value: 'url',
      summary:
        'Where browsers reach the dashboard. Links in messages begin with it; passkeys and single sign-on belong to its host',
      defaultText: 'none: no messages, no single sign-on, passkeys only at `localhost`',
    }),
  passwordSignIn: onOff.default('on').register(about, {
    group,
    value: 'mode',
    summary: 'Whether people may sign in with passwords; `zoneplane dashboard link` works in any case',
  }),
  confirmDeletions: onOff.default('on').register(about, {
    group,
    value: 'mode',
    summary: 'Whether people must prove again who they are before they delete zones and accounts in the dashboard',
  }),
  smtp: text()
    .refine(isMailServer, { error: 'expected an address such as smtp://user:password@mail.example.org:587' })
    .optional()
    .register(about, {
      group,
      value: 'url',
      secret: true,
      summary: 'Mail server through which links for new passwords are sent; needs `public-url`',
      defaultText: 'none: the operator hands links on',
    }),
  mailFrom: text()
    .regex(/^[^\s@<>(),;:"]+@[^\s@<>(),;:"]+$/, { error: 'expected an e-mail address' })
    .optional()
    .register(about, {
      group,
      value: 'address',
      summary: 'Sender of these messages',
      defaultText: '`zoneplane@` and the host of `public-url`',
    }),
};
