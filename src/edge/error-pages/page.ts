/** A failure as a response: HTML, JSON (RFC 9457) or text, as the client accepts. Caches may not store it. Pure. */
import type { Failure } from './failures.js';

export interface FailureContext {
  readonly accept: string | undefined;
  readonly host: string;
  readonly ray: string;
  /** Whether every client sees cause and remedy. */
  readonly details: boolean;
}

export interface FailurePage {
  readonly status: number;
  /** Alternating names and values; names in lower case. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

type Form = 'html' | 'json' | 'text';

const MEDIA_TYPES: Readonly<Record<Form, string>> = {
  html: 'text/html; charset=utf-8',
  json: 'application/problem+json',
  text: 'text/plain; charset=utf-8',
};

export function failurePage(failure: Failure, context: FailureContext): FailurePage {
  const form = preferredForm(context.accept);
  const body = Buffer.from(BODIES[form](failure, context));
  const headers = [
    ...['content-type', MEDIA_TYPES[form], 'content-length', String(body.length)],
    ...(failure.retryAfterS === undefined ? [] : ['retry-after', String(failure.retryAfterS)]),
    ...['cache-control', 'no-store', 'x-content-type-options', 'nosniff', 'cf-ray', context.ray],
  ];
  return { status: failure.status, headers, body };
}

const BODIES: Readonly<Record<Form, (failure: Failure, context: FailureContext) => string>> = {
  text: ({ code, cause, remedy }, { details }) =>
    [`error code: ${code}`, ...(details ? [cause, remedy].filter(Boolean) : [])].join('\n'),
  json: ({ code, status, title, cause, remedy }, { host, ray, details }) =>
    `${JSON.stringify({
      type: 'about:blank',
      title: `Error ${code}: ${title}`,
      status,
      error_code: code,
      ...(details && { cause, detail: remedy }),
      host,
      ray,
    })}\n`,
  html: ({ code, title, cause, remedy }, { host, ray, details }) => `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><style>body{overflow-wrap:anywhere}</style><title>${title} | ${escapeHtml(host)}</title></head>
<body>
<h1>Error ${code}</h1>
<p>${title}</p>
${details ? [cause, remedy].flatMap((text) => (text === undefined ? [] : [`<p>${escapeHtml(text)}</p>\n`])).join('') : ''}<p>${escapeHtml(host)} · Ray ID ${ray}</p>
</body>
</html>
`,
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Chooses by `Accept` (RFC 9110 §12.5.1); text if the client has no preference. */
function preferredForm(accept: string | undefined): Form {
  let best: Form = 'text';
  let bestQuality = 0;
  for (const part of accept?.toLowerCase().split(',') ?? []) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim());
    const form = FORMS.get(type);
    const quality = qualityOf(parameters);
    if (form !== undefined && quality > bestQuality) {
      best = form;
      bestQuality = quality;
    }
  }
  return best;
}

const FORMS: ReadonlyMap<string, Form> = new Map([
  ['text/html', 'html'],
  ['application/xhtml+xml', 'html'],
  ['application/json', 'json'],
  ['application/problem+json', 'json'],
  ['text/plain', 'text'],
]);

function qualityOf(parameters: readonly string[]): number {
  const weight = parameters.find((text) => text.startsWith('q='));
  if (weight === undefined) return 1;
  const quality = Number(weight.slice(2));
  return quality >= 0 && quality <= 1 ? quality : 0;
}
