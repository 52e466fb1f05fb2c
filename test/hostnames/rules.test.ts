/** The rules of custom hostnames as tables: states, times, texts, names, what is reported. */
import t from 'tap';
import type { CertificateState } from '../../src/certs/certificate-state.js';
import { EVENTS, nextState } from '../../src/hostnames/activation.js';
import { parseHostname } from '../../src/hostnames/name.js';
import { reportedSslStatus, reportedStatus } from '../../src/hostnames/reported.js';
import { delaySeconds, MOST_CHECKS } from '../../src/hostnames/schedule.js';
import * as texts from '../../src/hostnames/texts.js';
import { HOSTNAME_STATES } from '../../src/store/hostnames/hostnames.js';

t.test('what moves a hostname from state to state, and nothing else does', async (t) => {
  const moves = new Map([
    ['pending verified', 'active'],
    ['pending exhausted', 'moved'],
    ['pending held', 'blocked'],
    ['active elsewhere', 'moved'],
    ['active displaced', 'moved'],
    ['blocked restarted', 'pending'],
    ['moved restarted', 'pending'],
    ['moved expired', 'gone'],
  ]);
  for (const state of HOSTNAME_STATES) {
    for (const event of EVENTS) {
      t.equal(nextState(state, event), moves.get(`${state} ${event}`) ?? state, `${state}, ${event}`);
    }
  }
});

t.test('the back-off: 75 checks in a week', async (t) => {
  const first = [60, 63, 66, 69, 72, 76, 80, 84, 88, 93, 242, 279];
  t.strictSame(
    first.map((_, n) => delaySeconds(n)),
    first,
  );
  t.equal(delaySeconds(39), 13_975);
  for (const n of [40, 41, 74, 1000]) t.equal(delaySeconds(n), 14_400);
  let total = 0;
  for (let n = 0; n < MOST_CHECKS; n++) total += delaySeconds(n);
  t.equal((total / 3600).toFixed(2), '169.52');
});

t.test('texts that customers read', async (t) => {
  t.strictSame(
    [
      texts.NOT_POINTED,
      texts.NO_FALLBACK_ORIGIN,
      texts.fallbackOriginStatus('initializing'),
      texts.NO_OWN_ADDRESS,
      texts.unresolved('app.customer.net', 'servfail'),
      texts.unresolved('app.customer.net', 'timeout'),
      texts.HELD,
    ],
    [
      'custom hostname does not CNAME to this zone.',
      'zone does not have a fallback origin set.',
      'fallback origin is in a status of initializing.',
      'None of the A or AAAA records are owned by this account and the pre-generated ownership validation token was not found.',
      'could not resolve app.customer.net: SERVFAIL.',
      'could not resolve app.customer.net: timeout.',
      'The hostname is associated with a held zone. Please contact the owner of this domain to have the hold removed.',
    ],
  );
});

t.test('names in one form', async (t) => {
  const parse = (name: string) => parseHostname(name, { publicNames: false });
  t.equal(parse('APP.Customer.Net.'), 'app.customer.net');
  t.equal(parse('*.Customer.net'), '*.customer.net');
  t.equal(parse('xn--bcher-kva.customer.net'), 'xn--bcher-kva.customer.net');
  t.equal(parse('shop.customer.github.io'), 'shop.customer.github.io');
  t.equal(parse('customer.github.io'), 'customer.github.io', 'a suffix of a company is not a public one');
  t.equal(parse(`${'a'.repeat(63)}.customer.net`).length, 76, 'more than 64 characters');
  const longest = `${'a.'.repeat(120)}a.customer.net`.slice(-253).replace(/^\./, 'a');
  t.equal(parse(longest), longest);
  t.throws(() => parse('xn--a.customer.net'), { code: 1407 }, 'punycode of nothing');
});

t.test('what is reported', async (t) => {
  const certificate = (status: string, serving: boolean) => ({ status, serving }) as unknown as CertificateState;
  const rows = [
    ['pending', undefined, 'pending'],
    ['active', certificate('pending_validation', false), 'active'],
    ['pending', certificate('caa_error', false), 'caa_error'],
    ['active', certificate('caa_error', false), 'caa_error'],
    ['active', certificate('caa_error', true), 'active'],
    ['moved', certificate('caa_error', false), 'moved'],
    ['blocked', certificate('caa_error', false), 'blocked'],
  ] as const;
  for (const [state, known, reported] of rows) {
    t.equal(reportedStatus(state, known, false), reported, `${state}, ${known?.status} ${known?.serving}`);
    const redeploying = reported === 'active' ? 'active_redeploying' : reported;
    t.equal(reportedStatus(state, known, true), redeploying, `${state}, ${known?.status}, edges are behind`);
  }
  const brought = (status: string, uploaded = true) => ({ status, uploaded }) as unknown as CertificateState;
  for (const status of ['active', 'pending_deployment', 'deployment_timed_out'] as const) {
    for (const state of ['pending', 'moved', 'blocked'] as const) {
      t.equal(reportedSslStatus(state, brought(status)), 'holding_deployment', `${state} ${status}`);
    }
    t.equal(reportedSslStatus('active', brought(status)), status);
    t.equal(reportedSslStatus('pending', brought(status, false)), status, 'issued');
  }
  t.equal(reportedSslStatus('pending', brought('expired')), 'expired');
});
