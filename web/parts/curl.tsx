/** «Show as curl»: the exact requests that a screen sends, in one place. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { BASE } from '../api.js';
import { Button } from '../kit/button.js';

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

interface Commands {
  /** Of the part of the screen that sends them; undefined: of the screen. */
  readonly part: string | undefined;
  /** A function where making the request takes time: it is called when the command is shown. */
  readonly request: Request | (() => Request);
  /** What else the screen does, by what it does: «Delete one». */
  readonly others: Readonly<Record<string, Request>>;
}

/** What the parts of a screen, or of a dialog, send. */
interface Collection {
  readonly parts: Map<object, Commands>;
  readonly listeners: Set<() => void>;
}

function createCollection(): Collection {
  return { parts: new Map(), listeners: new Set() };
}

/** A dialog has its own: what is behind it cannot be reached. */
const Commanding = createContext(createCollection());

/** The title of the panel around. */
export const PartContext = createContext<string | undefined>(undefined);

/** Says what this part of the screen sends. It is shown where the screen ends, on demand. */
export function Curl({ request, others = {} }: Pick<Commands, 'request'> & Partial<Pick<Commands, 'others'>>) {
  const { parts, listeners } = useContext(Commanding);
  const part = useContext(PartContext);
  const key = useState(() => ({}))[0];
  useLayoutEffect(() => {
    parts.set(key, { part, request, others });
    for (const listener of listeners) listener();
  });
  useLayoutEffect(
    () => () => {
      parts.delete(key);
      for (const listener of listeners) listener();
    },
    [],
  );
  return null;
}

/** Collects what its children send, and shows it below them. */
export function WithCurl({ children }: { readonly children: ComponentChildren }) {
  const collection = useState(createCollection)[0];
  return (
    <Commanding.Provider value={collection}>
      {children}
      <ShowAsCurl collection={collection} />
    </Commanding.Provider>
  );
}

function ShowAsCurl({ collection: { parts, listeners } }: { readonly collection: Collection }) {
  const [isOpen, setOpen] = useState(false);
  const [, redraw] = useState(0);
  const shown = useRef(parts.size > 0);
  shown.current = parts.size > 0;
  useLayoutEffect(() => {
    const listener = (): void => {
      // What is typed changes commands, which only those see who have opened them.
      if (isOpen || shown.current !== parts.size > 0) redraw((n) => n + 1);
    };
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, [isOpen]);
  if (parts.size === 0) return null;
  return (
    <section class="curl" aria-label="As curl">
      <Button
        class="quiet"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        text={isOpen ? 'Hide the commands' : 'Show as curl'}
      />
      {isOpen &&
        [...parts.values()].map(({ part = 'This screen', request, others }, index) => (
          <div key={index}>
            <h3>{part}</h3>
            <Copyable text={curlOf(typeof request === 'function' ? request() : request)} label={`command: ${part}`} />
            {Object.entries(others).map(([what, other]) => (
              <div key={what}>
                <p class="hint">{what}:</p>
                <Copyable text={curlOf(other)} label={`command: ${what}`} />
              </div>
            ))}
          </div>
        ))}
    </section>
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
        <Button
          class="quiet"
          aria-label={`Copy the ${label}`}
          onClick={() => void copy()}
          text={copied ? 'Copied' : 'Copy'}
        />
      )}
    </div>
  );
}
