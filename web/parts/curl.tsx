/** «The same as curl»: the exact request that a button sends. */
import { useState } from 'preact/hooks';
import { BASE } from '../api.js';

export interface Request {
  readonly method: string;
  /** Below the API's base. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name of a file that is the body. */
  readonly file?: string;
}

/** A shell command; the credential is a variable that people set themselves. */
function curlOf({ method, path, body, headers = {}, file }: Request): string {
  const parts = [
    'curl',
    ...(method === 'GET' || (method === 'POST' && (body ?? file) !== undefined) ? [] : [`-X ${method}`]),
    '-H "Authorization: Bearer $TOKEN"',
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(file === undefined ? [] : [`--data-binary ${quote(`@${file}`)}`]),
    ...(body === undefined ? [] : [`-d ${quote(JSON.stringify(body))}`]),
    quote(location.origin + BASE + path),
  ];
  return parts.join(' \\\n  ');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

interface CurlProps {
  /** A function where making the request takes time: it is called when the command is shown. */
  readonly request: Request | (() => Request);
  /** What else the screen does, by what it does: «Delete one». */
  readonly others?: Readonly<Record<string, Request>>;
}

export function Curl({ request, others = {} }: CurlProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="curl" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same as curl</summary>
      {isOpen && <Copyable text={curlOf(typeof request === 'function' ? request() : request)} label="command" />}
      {isOpen &&
        Object.entries(others).map(([what, other]) => (
          <div key={what}>
            <p class="hint">{what}:</p>
            <Copyable text={curlOf(other)} label={`command: ${what}`} />
          </div>
        ))}
    </details>
  );
}

/** Text that is copied with one press. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <div class="copyable">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
      {'clipboard' in navigator && (
        <button type="button" class="quiet" aria-label={`Copy the ${label}`} onClick={() => void copy()}>
          {copied ? 'Copied' : 'Copy'}
        </button>
      )}
    </div>
  );
}
