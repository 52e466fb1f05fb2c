/**
 * The dashboard: `/` and the paths of its screens are answered with one page, whose scripts draw the screen. It is public,
 * because it contains no data; everything it shows comes from the API with a session. Whoever has none is sent to the form for
 * signing in before the scripts ask for anything.
 */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { authenticateSession } from '../../control/access/authentication.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { judgeRead } from '../../http/conditions.js';
import { failure, pathOf } from '../errors.js';
import { DOCS_PATH } from '../openapi/document.js';
import { readSessionCookie } from '../sessions/cookie.js';
import type { Asset, Assets, Coding } from './assets.js';
import { PAGES, screenAt } from './pages.js';

/** Everything comes from here; nothing is inline, and no other page may frame it (CSP level 3). */
export const POLICY = [
  "default-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');
/** The name of a file changes with its content. */
const FOREVER = 'public, max-age=31536000, immutable';
const PUBLIC = { config: { access: 'public' }, schema: { hide: true } } as const;

export interface DashboardOptions {
  readonly base: ContextBase;
  /** Undefined: the program was built without the dashboard. */
  readonly assets: Assets | undefined;
}

export const dashboardRoutes: FastifyPluginAsync<DashboardOptions> = async (app, { base, assets }) => {
  app.get('/', PUBLIC, async (request, reply) => {
    if (!assets) return reply.redirect(DOCS_PATH);
    return (await isSignedOut(base, request)) ? leadToSignIn(request, reply) : sendPage(assets, request, reply);
  });
  for (const page of PAGES) {
    for (const url of [`/${page}`, `/${page}/*`]) {
      app.get(url, PUBLIC, async (request, reply) => {
        if (!assets) throw failure('unroutable', { path: pathOf(request) });
        if (page !== SIGN_IN && (await isSignedOut(base, request))) return leadToSignIn(request, reply);
        return sendPage(assets, request, reply);
      });
    }
  }
  app.get('/assets/:file', PUBLIC, async (request, reply) => {
    const { file } = request.params as { readonly file: string };
    const asset = assets?.files.get(file);
    if (!asset) throw failure('unroutable', { path: pathOf(request) });
    reply.header('cache-control', FOREVER);
    return send(asset, request, reply);
  });
};

const SIGN_IN = 'sign-in';

/**
 * Whether a browser opens a page without a session that counts. One that comes from a page of another site cannot be told: its
 * cookie is not sent then (SameSite=Strict), and the page finds out by itself. The same holds for browsers that do not say where
 * they come from (Fetch Metadata Request Headers §2).
 */
async function isSignedOut(base: ContextBase, request: FastifyRequest): Promise<boolean> {
  const { 'sec-fetch-dest': destination, 'sec-fetch-site': site = 'cross-site' } = request.headers;
  if (destination !== 'document' || site === 'cross-site') return false;
  const secret = readSessionCookie(base.store, request);
  return secret === undefined || !(await authenticateSession(base, secret, request.clientAddress)).ok;
}

/** As the page does it (web/main.tsx): after signing in, it goes where the browser was going. */
function leadToSignIn({ url }: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('cache-control', 'no-store');
  return reply.redirect(url === '/' ? `/${SIGN_IN}` : `/${SIGN_IN}?to=${encodeURIComponent(url)}`);
}

/** Paths that programs use: their refusals are JSON, whoever asks. */
const FOR_PROGRAMS = /^\/(?:client|v4|assets|docs)(?:\/|$)/;

/** Whether a person looks at an address with a browser. */
export function wantsPage(request: FastifyRequest): boolean {
  const accepted = request.headers.accept?.toLowerCase() ?? '';
  return request.method === 'GET' && accepted.includes('text/html') && !FOR_PROGRAMS.test(pathOf(request));
}

/** Where there is nothing, also at addresses that no router can read: the page, which says so. */
export function sendMissing({ index }: Assets, request: FastifyRequest, reply: FastifyReply): Buffer {
  reply.code(404);
  reply.header('cache-control', 'no-store');
  reply.header('content-security-policy', POLICY);
  reply.header('x-content-type-options', 'nosniff');
  reply.header('referrer-policy', 'no-referrer');
  reply.header('vary', 'accept-encoding, accept');
  return contentOf(index, request, reply);
}

function sendPage({ index, screens }: Assets, request: FastifyRequest, reply: FastifyReply): Buffer | string {
  reply.header('cache-control', 'no-cache');
  reply.header('content-security-policy', POLICY);
  const screen = screens.get(screenAt(pathOf(request)));
  // The browser fetches it together with the script that will want it.
  if (screen !== undefined) reply.header('link', `</assets/${screen}>; rel=modulepreload`);
  return send(index, request, reply);
}

/** Answers with a file, unless the client has it. */
export function send(asset: Asset, request: FastifyRequest, reply: FastifyReply): Buffer | string {
  const { etag, octets } = asset;
  reply.header('vary', 'accept-encoding');
  reply.header('etag', `"${etag}"`);
  const found = { etag, size: octets.length, uploadedAt: undefined };
  if (judgeRead({ 'if-none-match': request.headers['if-none-match'] }, found) === 'not-modified') {
    reply.code(304);
    return '';
  }
  return contentOf(asset, request, reply);
}

/** The octets in a coding that the client takes. */
function contentOf({ type, octets, coded }: Asset, request: FastifyRequest, reply: FastifyReply): Buffer {
  reply.header('content-type', type);
  const coding = [...coded.keys()].find((candidate) => accepts(request, candidate));
  if (coding === undefined) return octets;
  reply.header('content-encoding', coding);
  return coded.get(coding)!;
}

/** Whether the client takes a content coding (RFC 9110 §12.5.3). */
function accepts({ headers }: FastifyRequest, coding: Coding): boolean {
  const members = headers['accept-encoding']?.toString().toLowerCase().split(',') ?? [];
  const member = members.map((text) => text.split(';')).find(([name]) => name!.trim() === coding);
  return member !== undefined && !/^\s*q=0(\.0*)?\s*$/.test(member[1] ?? '');
}
