/** A client of `GET /events` (Server-Sent Events). */
import type { Test } from 'tap';

export interface EventStream {
  readonly status: number;
  readonly text: () => string;
  // biome-ignore lint/suspicious/noExplicitAny: events are looked into freely
  readonly events: () => any[];
  readonly isOver: () => boolean;
  close(): void;
}

/** Resolves when the stream has begun. It ends with the test at the latest. */
export async function openEventStream(t: Test, url: string, headers: Record<string, string>): Promise<EventStream> {
  const abort = new AbortController();
  t.teardown(() => abort.abort());
  const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal: abort.signal });
  let text = '';
  let isOver = false;
  const read = async (): Promise<void> => {
    for await (const piece of response.body!) text += Buffer.from(piece).toString();
  };
  read()
    .catch(() => {})
    .finally(() => (isOver = true));
  return {
    status: response.status,
    text: () => text,
    events: () => [...text.matchAll(/^id: (\d+)\ndata: (.*)$/gm)].map(([, , data]) => JSON.parse(data!)),
    isOver: () => isOver,
    close: () => abort.abort(),
  };
}
