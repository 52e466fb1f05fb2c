/** Ada, who has a password and an account, and browsers for her. */
import type { Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { setPasswordOf } from '../../src/sign-in/operator.js';
import { ANONYMOUS, type Answer, type Installation, type InstallationOptions, install } from './installation.js';

export const OWN = { 'zoneplane-dashboard': '1' };
export const ADA = 'Ada@example.com';
export const PASSWORD = 'an engine that weaves';

export interface Person {
  call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<Answer>;
  cookie: string;
}

/** A browser without a session, which takes the cookies that it is given. */
export function browser({ call }: Installation, remember = ''): Person {
  const person: Person = {
    cookie: remember,
    async call(method, path, body) {
      const own = method === 'GET' ? {} : OWN;
      const cookie = person.cookie === '' ? {} : { cookie: person.cookie };
      const answer = await call(method, path, body, { headers: { ...ANONYMOUS, ...own, ...cookie } });
      const set = answer.headers['set-cookie'];
      if (set !== undefined) person.cookie = String(set).split(';')[0]!;
      return answer;
    },
  };
  return person;
}

/** An installation with Ada, who has a password and an account. */
export async function withAda(t: Test, options: InstallationOptions = {}): Promise<Installation> {
  const installation = await install(t, options);
  await createAccount(installation.operator, { name: 'Engines', members: [ADA] });
  await setPasswordOf(installation.operator, ADA, PASSWORD);
  return installation;
}

export async function suspend({ store }: Installation, email: string): Promise<void> {
  const set = store.prepare<[email: string]>('UPDATE users SET suspended = 1 WHERE email = ?');
  await store.write(() => set.run(email));
}

export const signIn = (person: Person, password = PASSWORD, email = ADA): Promise<Answer> =>
  person.call('POST', '/user/sign_in', { email, password });
