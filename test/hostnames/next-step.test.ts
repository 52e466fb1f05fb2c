/** The sentence about what comes next, for every state of a hostname and of its certificate. */
import t from 'tap';
import type { CertificateState } from '../../src/certs/certificate-state.js';
import { caaErrors, lookupError, unseenError } from '../../src/certs/issuance/problems.js';
import { type HostnameFacts, nextStep } from '../../src/hostnames/next-step.js';
import {
  customOriginMissing,
  fallbackOriginStatus,
  HELD,
  NO_FALLBACK_ORIGIN,
  NOT_POINTED,
  notPointedTo,
  unresolved,
} from '../../src/hostnames/texts.js';

const HOST = 'shop.customer.net';
const PENDING: HostnameFacts = {
  ...{ state: 'pending', hostname: HOST, zone: 'example.com', errors: [], txtName: `_cf-custom-hostname.${HOST}` },
  ...{ target: null, fallbackOrigin: 'origin.example.com', origin: null, pointed: false, redeploying: false },
  certificate: null,
};
const ACTIVE: HostnameFacts = { ...PENDING, state: 'active', pointed: true };

function certificate(status: CertificateState['status'], more: Partial<CertificateState> = {}): CertificateState {
  return {
    ...{ id: 'x', status, authority: 'google', requestedAuthority: '', names: [HOST], method: 'http' },
    ...{ validityDays: 90, records: [], errors: [], certificates: [], serving: false, uploaded: false },
    ...more,
  };
}

const TXT = { status: 'pending', txtName: `_acme-challenge.${HOST}`, txtValue: 'abc' } as const;
const REFUSED = { message: 'The certificate authority will not issue for this domain.', actor: 'ca' } as const;
const CNAME = `Your customer must add a CNAME record from ${HOST} to`;

t.test('hostnames that are not active', async (t) => {
  const say = (more: Partial<HostnameFacts>): string => nextStep({ ...PENDING, ...more });
  const proof = `${CNAME} origin.example.com, or the TXT record _cf-custom-hostname.${HOST}.`;
  t.equal(say({}), proof);
  t.equal(say({ errors: [NOT_POINTED] }), proof);
  const target = 'abc.example.com';
  t.match(say({ target, errors: [notPointedTo(target)] }), `${CNAME} ${target}, or`);
  t.match(say({ fallbackOrigin: null }), `${CNAME} a proxied name of example.com, or`);
  t.match(say({ errors: [unresolved(HOST, 'servfail')] }), /^Your customer must .*its name servers fail \(SERVFAIL\)/);
  t.match(say({ errors: [unresolved(HOST, 'timeout')] }), /its name servers do not answer, or this server does not/);

  const none = { fallbackOrigin: null };
  t.equal(
    say({ ...none, errors: [NO_FALLBACK_ORIGIN] }),
    `You must choose the fallback origin of example.com: the proxied record whose server gets the requests. ${HOST} is proven already.`,
  );
  t.match(say({ ...none, errors: [NOT_POINTED, NO_FALLBACK_ORIGIN] }), /^You must choose .* Your customer must add/);
  t.equal(
    say({ errors: [fallbackOriginStatus('initializing')] }),
    `You must add a proxied A, AAAA or CNAME record for origin.example.com. ${HOST} is proven already.`,
  );
  t.match(
    say({ origin: 'own.example.com', errors: [customOriginMissing('own.example.com')] }),
    /^You must add an A, AAAA or CNAME record for own\.example\.com,/,
  );

  const long = `${'a'.repeat(63)}.`.repeat(3) + 'b'.repeat(61);
  const named = { hostname: long, txtName: `_cf-custom-hostname.${long}` };
  t.equal(say(named), `Your customer must add a CNAME record from ${long} to origin.example.com.`, 'no such name');
  const record = { ...TXT, txtName: `_acme-challenge.${long}` };
  t.match(
    say({ ...named, certificate: certificate('pending_validation', { method: 'txt', records: [record] }) }),
    /is too long for the TXT record of the authority: you must choose the method http\.$/,
  );

  t.match(say({ state: 'blocked', errors: [HELD] }), /^The owner of the domain must end the hold on it\. Then have it/);
  const moved = say({ state: 'moved', errors: [NOT_POINTED] });
  t.match(moved, `${CNAME} origin.example.com`);
  t.match(moved, 'Then have it checked again: until then it is not served.');
  t.match(say({ state: 'moved', errors: [NO_FALLBACK_ORIGIN] }), /^You must choose/);

  t.equal(say({ certificate: certificate('initializing') }), proof, 'what happens by itself is not told');
  t.equal(say({ certificate: certificate('pending_validation') }), proof);
  t.equal(
    say({ certificate: certificate('pending_validation', { method: 'txt', records: [TXT] }) }),
    `${proof} For the certificate, your customer must add the TXT record _acme-challenge.${HOST}, or delegate it here by a CNAME record, once.`,
  );
  const errors = caaErrors(HOST, 'customer.net has CAA records.', ['0 issue "pki.goog"'], []);
  t.match(say({ certificate: certificate('caa_error', { errors }) }), /^Your customer must add a CNAME .*CAA records/);
  const unknown = { errors: [unresolved(HOST, 'servfail')], certificate: certificate('initializing') };
  t.equal(
    say({ ...unknown, certificate: certificate('initializing', { errors: [lookupError()] }) }),
    say(unknown),
    'that nothing can be looked up is said once',
  );
  t.equal(say({ certificate: certificate('holding_deployment', { uploaded: true }) }), proof);
});

t.test('active hostnames', async (t) => {
  const say = (known: HostnameFacts['certificate'], more: Partial<HostnameFacts> = {}): string =>
    nextStep({ ...ACTIVE, certificate: known, ...more });
  const status = (name: CertificateState['status'], more: Partial<CertificateState> = {}): string =>
    say(certificate(name, more));
  t.equal(status('active'), 'Nothing has to be done: it works.');
  t.match(say(null), /^Nothing has to be done: it works, over HTTP only/);
  const lacks = say(certificate('active'), { fallbackOrigin: null, errors: [NO_FALLBACK_ORIGIN] });
  t.match(lacks, /^You must choose the fallback origin .* Until then, requests for shop\.customer\.net fail\.$/);
  t.match(
    say(certificate('active'), { errors: [fallbackOriginStatus('initializing')] }),
    /^You must add a proxied A, AAAA or CNAME record for origin\.example\.com\. Until then/,
  );
  t.equal(
    say(certificate('active'), { pointed: false }),
    `Nothing has to be done: it works as soon as ${HOST} leads here, by a CNAME record to origin.example.com.`,
    'active by a token',
  );
  t.match(say(certificate('active'), { redeploying: true }), /^Nothing .*: it works, and the edge takes over/);
  t.match(say(undefined), /This server orders the certificate; nobody/);
  t.match(status('initializing'), /This server orders the certificate; nobody/);
  t.match(status('pending_validation'), /^This server proves control .* nobody/);
  t.match(
    say(certificate('pending_validation'), { pointed: false }),
    `The certificate comes by itself as soon as ${HOST} leads here.`,
    'active by a token',
  );
  t.match(
    status('pending_validation', { method: 'txt', records: [TXT] }),
    /your customer must add the TXT record _acme/,
  );
  t.match(
    status('pending_validation', { records: [{ ...TXT, status: 'valid' }] }),
    /^This server proves/,
    'what is proven has not to be added',
  );
  t.match(status('pending_validation', { errors: [lookupError()] }), /^For the certificate, the name servers of shop/);
  t.match(status('pending_validation', { errors: [unseenError('no route.')] }), /^The operator of this server must/);
  t.match(status('initializing', { errors: [REFUSED] }), /^Wait for the certificate authority.* will not issue/);
  t.match(status('pending_issuance'), /^The certificate authority makes the certificate; nobody/);
  t.match(status('pending_deployment'), /the edge takes it over; nobody/);
  t.match(status('deployment_timed_out'), /^The operator of this server must look at the edge/);
  for (const name of ['initializing_timed_out', 'validation_timed_out', 'issuance_timed_out'] as const) {
    t.match(status(name), / in time\. This server has given up: have it checked again\.$/, name);
    t.match(status(name, { errors: [REFUSED] }), /will not issue for this domain\. This server has given up/, name);
  }
  const caa = caaErrors(HOST, 'customer.net has CAA records.', ['0 issue "pki.goog"'], []);
  t.match(
    status('caa_error', { errors: caa }),
    /^Your customer must act before .*To permit it, add: 0 issue "pki\.goog"/,
    'the second one says what to do',
  );
  t.match(status('caa_error', { errors: caa, serving: true }), /^It works until its certificate ends\. Your customer/);
  t.match(status('pending_expiration', { serving: true }), /^This server renews the certificate, which ends soon/);
  t.match(status('pending_expiration', { serving: true, errors: [REFUSED] }), /^It works until .* Wait for/);
  t.match(status('pending_expiration', { serving: true, uploaded: true }), /^You must bring another certificate/);
  t.match(status('expired'), /^This server renews the certificate, which has ended/);
  t.match(status('expired', { uploaded: true }), /^You must bring another certificate: this one has ended/);
});
