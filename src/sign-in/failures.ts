/** Refusals of sign-ins: HTTP status, v4 code, text. They say nothing about whether a user exists. */
import { defineErrors } from '../base/errors.js';

export const signInFailure = defineErrors('sign-in', {
  wrong: { status: 403, code: 9109, text: 'The e-mail address or the password is wrong.' },
  wrongCode: { status: 403, code: 9109, text: 'The code is wrong or was used already.' },
  wrongCodeOrClock: {
    status: 403,
    code: 9109,
    text: 'The code is wrong or was used already. If it is the one that your device shows, compare the clocks: here it is {time}.',
  },
  wrongPassword: { status: 403, code: 9109, text: 'The password is wrong.' },
  wrongPasskey: { status: 403, code: 9109, text: 'The passkey was not accepted: {reason}.' },
  noPasskeys: {
    status: 400,
    code: 9207,
    text: 'Passkeys need a name: set public-url, or open the dashboard at localhost.',
  },
  expired: { status: 401, code: 9109, text: 'The sign-in has expired. Please begin again.' },
  tooMany: { status: 429, code: 10429, text: 'There were too many failed attempts. Please try again later.' },
  busy: { status: 503, code: 10503, text: 'Too many passwords are being checked. Please try again in a moment.' },
  passwordsOff: { status: 403, code: 9109, text: 'This installation has no sign-in with passwords.' },
  badPassword: { status: 400, code: 9207, text: '{reason}' },
  onlyPeople: {
    status: 403,
    code: 9109,
    text: 'Only a person who signed in to the dashboard as themself can do this, not a key or token.',
  },
  unknownLink: { status: 403, code: 9109, text: 'This link was used already, or is too old.' },
  unknownUser: { status: 404, code: 1003, text: 'No user has the e-mail address {email}.' },
  suspended: { status: 400, code: 9207, text: 'The user {email} is suspended.' },
  unknownProvider: { status: 404, code: 1003, text: 'There is no such identity provider.' },
  noPublicUrl: { status: 400, code: 9207, text: 'Single sign-on needs the setting public-url.' },
  providerAway: { status: 503, code: 10503, text: 'The identity provider does not answer: {reason}.' },
  badStatement: { status: 403, code: 9109, text: 'What the identity provider says does not count: {reason}.' },
  clocksApart: {
    status: 403,
    code: 9109,
    text: 'The clocks of the identity provider and of this server are more than five minutes apart: here it is {time}.',
  },
  notAllowed: { status: 403, code: 9109, text: 'The identity provider knows you, but you have no access here.' },
  needsLink: {
    status: 403,
    code: 9109,
    text: 'Your address belongs to a user already. Sign in as that user, and link the provider in the profile.',
  },
  linkedElsewhere: { status: 403, code: 9109, text: 'At the provider you are somebody else’s user here.' },
  mustEnrol: { status: 403, code: 10013, text: 'This account requires two-factor authentication.' },
  mustConfirm: { status: 403, code: 10014, text: 'Please confirm that it is you.' },
  noFactor: { status: 404, code: 1003, text: 'There is no such factor.' },
  badInput: { status: 400, code: 9207, text: '{reason}' },
});
