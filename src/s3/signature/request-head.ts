/** The head of a request, whoever has read it. */
import type { IncomingMessage } from 'node:http';

/** What of a request says who sends it, and what is asked. */
export interface RequestHead extends Pick<IncomingMessage, 'headers'> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly rawHeaders: readonly string[];
}
