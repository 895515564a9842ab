// Made by `npm run types` from the OpenAPI document with SHA-256 ce404692dc94e7d2ec36cafaaea5adb4725161d4648f84ac87240a4626de7df0. Do not edit.
export interface paths {
    "/admin/contestants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Contestants
         * @description Every contestant, with how its engine is.
         */
        get: operations["contestants_admin_contestants_get"];
        put?: never;
        /**
         * Add
         * @description Add a contestant. It plays as soon as its engine has answered a warm-up.
         */
        post: operations["add_admin_contestants_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/contestants/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove
         * @description Remove a contestant. What it is answering it finishes; its battles and votes stay.
         */
        delete: operations["remove_admin_contestants__name__delete"];
        options?: never;
        head?: never;
        /**
         * Change
         * @description Re-weight, pause or resume a contestant, or give it other servers.
         */
        patch: operations["change_admin_contestants__name__patch"];
        trace?: never;
    };
    "/admin/replicas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Replicas
         * @description Every replica that a living runner serves, with what it has to do.
         */
        get: operations["replicas_admin_replicas_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/replicas/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change Replica
         * @description Drain a replica, or use it again. It is kept in the ledger, and a drained one finishes what it has.
         */
        patch: operations["change_replica_admin_replicas__id__patch"];
        trace?: never;
    };
    "/arena/battles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * History
         * @description Your own conversations of every kind, newest first.
         */
        get: operations["history_arena_battles_get"];
        put?: never;
        /**
         * Start Battle
         * @description Start an anonymous battle.
         */
        post: operations["start_battle_arena_battles_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/battles/{battle_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find
         * @description One of your conversations.
         */
        get: operations["find_arena_battles__battle_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/battles/{battle_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description Both sides as they are written, from where you were, until the last turn is settled.
         */
        get: operations["events_arena_battles__battle_id__events_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/battles/{battle_id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop
         * @description Stop what is being written. A stopped answer cannot be voted on; it can be generated again.
         */
        post: operations["stop_arena_battles__battle_id__stop_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/battles/{battle_id}/turns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add Turn
         * @description Ask the same contestants something more.
         */
        post: operations["add_turn_arena_battles__battle_id__turns_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/battles/{battle_id}/turns/{turn}/regenerate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Regenerate
         * @description Write a stopped or failed side of the last turn again.
         */
        post: operations["regenerate_arena_battles__battle_id__turns__turn__regenerate_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/battles/{battle_id}/vote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Vote
         * @description Vote, once. The reply comes after the ledger has the vote, and tells who the models were.
         */
        post: operations["vote_arena_battles__battle_id__vote_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/boards/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Board
         * @description A board as it is now. The live one is `main`; it counts every vote unless a part of them is asked for.
         */
        get: operations["board_arena_boards__name__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/boards/{name}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Board Events
         * @description The whole board, at once and whenever it changes.
         */
        get: operations["board_events_arena_boards__name__events_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/boards/{name}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Rating History
         * @description Ratings through time, at the end of each UTC day, over the window that ends with it.
         */
        get: operations["rating_history_arena_boards__name__history_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/boards/{name}/matrix": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Matrix
         * @description Who beats whom how often: as voted, and as the ratings predict it.
         */
        get: operations["matrix_arena_boards__name__matrix_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/engines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Engines
         * @description Whether a reduced engine of the reward model has drifted from the full-precision one, and was rolled back.
         */
        get: operations["engines_arena_engines_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Models
         * @description The models that can be named in a side-by-side comparison or a chat.
         */
        get: operations["models_arena_models_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Rounds
         * @description Rounds, newest first.
         */
        get: operations["rounds_arena_rounds_get"];
        put?: never;
        /**
         * Create Round
         * @description Start a round: its contestants answer every question, a scorer scores the answers, a board ranks them.
         */
        post: operations["create_round_arena_rounds_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find Round
         * @description A round and how far it is.
         */
        get: operations["find_round_arena_rounds__round_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}/answers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Round Answers
         * @description All answers to one question, with their scores.
         */
        get: operations["round_answers_arena_rounds__round_id__answers_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}/board": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Round Board
         * @description The board of a round as it is now.
         */
        get: operations["round_board_arena_rounds__round_id__board_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}/contestants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add Round Contestant
         * @description Add a contestant to a round, finished or not; only its answers are made.
         */
        post: operations["add_round_contestant_arena_rounds__round_id__contestants_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Round Events
         * @description How far a round is (`progress`) and its board (`board`), at once and whenever they change.
         */
        get: operations["round_events_arena_rounds__round_id__events_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}/judge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Round Judge
         * @description Whether a round's judge goes by the order, favours itself, or gives no verdicts.
         */
        get: operations["round_judge_arena_rounds__round_id__judge_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Round Questions
         * @description The questions of a round, in the order of its bank.
         */
        get: operations["round_questions_arena_rounds__round_id__questions_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rerun Round
         * @description Have answers made that failed, and answers scored that were parked, once more.
         */
        post: operations["rerun_round_arena_rounds__round_id__rerun_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}/rivals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Round Rivals
         * @description Everyone against everyone, on the questions that both have a score on.
         */
        get: operations["round_rivals_arena_rounds__round_id__rivals_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/rounds/{round_id}/trouble": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Round Trouble
         * @description Answers that failed or are parked, with their errors.
         */
        get: operations["round_trouble_arena_rounds__round_id__trouble_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/scorers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Scorers
         * @description What can score answers, and how far each agrees with the arena's voters.
         */
        get: operations["scorers_arena_scorers_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/side-by-side": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start Side By Side
         * @description Compare two named models. Never ranked.
         */
        post: operations["start_side_by_side_arena_side_by_side_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Status
         * @description Whether a battle can start, and what bounds it.
         */
        get: operations["status_arena_status_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/submit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit Answers
         * @description Send an answer that was made elsewhere, or up to 1,000. The reply comes after the ledger has it; in a batch each has its own, be it a refusal.
         */
        post: operations["submit_answers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/arena/votes/{receipt}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find Vote
         * @description What the ledger holds for a receipt.
         */
        get: operations["find_vote_arena_votes__receipt__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Chat
         * @description Ask one model.
         */
        post: operations["chat_chat_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/chat/result/{result}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Result
         * @description What has become of an answer that was asked for with `Prefer: respond-async`; for whoever asked it.
         */
        get: operations["result_chat_result__result__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Healthz
         * @description The process is alive.
         */
        get: operations["healthz_healthz_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description Prometheus metrics of this gateway, and what it knows of the fleet.
         */
        get: operations["metrics_metrics_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Readyz
         * @description An engine has answered its warm-up, and the ledger and the bus can be reached.
         */
        get: operations["readyz_readyz_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask a contestant
         * @description Ask a contestant, as OpenAI's API does it. With `stream` the answer comes as server-sent events.
         */
        post: operations["chat_completions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every contestant that can be asked
         * @description Every contestant that can be asked.
         */
        get: operations["openai_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{model}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One contestant
         * @description One contestant.
         */
        get: operations["openai_model"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description How often a scorer prefers the answer that the arena's voters preferred, over the newest battles of one turn. */
        AgreementOut: {
            bins: components["schemas"]["BinOut"][];
            decided: number;
            kappa: number | null;
            kappa_high: number | null;
            kappa_low: number | null;
            made_at: string;
            pairs: number;
            revision: string;
            right: components["schemas"]["ShareOut"];
            unscored: number;
        };
        /** @description Where a contestant's answers were when the board was made. */
        AnswerCountsOut: {
            abstained: number;
            answered: number;
            failed: number;
            missing: number;
            parked: number;
            pending: number;
            scored: number;
        };
        /** @description One side's answer to one turn. */
        AnswerOut: {
            finish_reason: string | null;
            /** @enum {string} */
            state: "pending" | "done" | "stopped" | "failed" | "forfeited";
            text: string | null;
        };
        /**
         * @description Where an answer of a round is.
         * @enum {string}
         */
        AnswerStage: "pending" | "answered" | "scored" | "abstained" | "failed" | "parked";
        /** @description Pairs of answers whose scores lay about equally far apart. */
        BinOut: {
            least: number;
            most: number;
            right: components["schemas"]["ShareOut"];
        };
        /**
         * @description A board; `rating`, `low`, `high` and `rank` are `null` where the votes do not determine them.
         * @example {
         *       "categories": [
         *         {
         *           "category": "latin",
         *           "votes": 1100
         *         },
         *         {
         *           "category": "code",
         *           "votes": 420
         *         }
         *       ],
         *       "forfeits": 6,
         *       "min_battles": 30,
         *       "name": "main",
         *       "notes": [],
         *       "rows": [
         *         {
         *           "battles": 250,
         *           "both_bad": 20,
         *           "elo": null,
         *           "forfeits": 2,
         *           "high": 1058.4,
         *           "losses": 70,
         *           "low": 1010,
         *           "model": "smollm2-135m-instruct",
         *           "notes": [],
         *           "rank": 1,
         *           "rating": 1034.2,
         *           "ties": 40,
         *           "ttft_median_ms": 310,
         *           "win_rate": 0.6,
         *           "wins": 120
         *         }
         *       ],
         *       "style": [
         *         {
         *           "feature": "tokens",
         *           "points": 61.5,
         *           "se": 9.8
         *         }
         *       ],
         *       "updated_at": "2026-01-31T12:00:00.000Z",
         *       "view": {
         *         "category": "code",
         *         "style": true,
         *         "window": "30d"
         *       },
         *       "votes": 1234
         *     }
         */
        BoardOut: {
            categories: components["schemas"]["CategoryOut"][];
            forfeits: number;
            min_battles: number;
            name: string;
            notes: components["schemas"]["NoteOut"][];
            rows: components["schemas"]["BoardRowOut"][];
            style: components["schemas"]["StyleWeightOut"][];
            updated_at: string | null;
            view: components["schemas"]["ViewOut"];
            votes: number;
        };
        BoardRowOut: {
            battles: number;
            both_bad: number;
            elo: number | null;
            forfeits: number;
            high: number | null;
            losses: number;
            low: number | null;
            model: string;
            notes: components["schemas"]["NoteOut"][];
            rank: number | null;
            rating: number | null;
            ties: number;
            ttft_median_ms: number | null;
            win_rate: number | null;
            wins: number;
        };
        /**
         * @description What a vote can be filtered by. The first eight are the script that most letters of the prompts are in.
         * @enum {string}
         */
        Category: "chinese" | "japanese" | "korean" | "latin" | "cyrillic" | "arabic" | "devanagari" | "other_script" | "code" | "short" | "long" | "multi_turn";
        CategoryOut: {
            category: components["schemas"]["Category"];
            votes: number;
        };
        /**
         * @description A prompt for one model.
         *
         *     `session_id` goes on with a chat of yours: the id that an answer gave, or a name of your own, which starts a chat
         *     when it is new.
         */
        ChatBody: {
            max_tokens?: number | null;
            /** @example smollm2-135m-instruct */
            model?: string | null;
            /** @example Explain rainbows to a child. */
            prompt: string;
            session_id?: string | null;
        };
        /** @description One answer. */
        ChatChoiceOut: {
            finish_reason: string | null;
            index: number;
            message: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /**
         * @description A request as OpenAI's API takes it. What is not listed here goes to the model's server as it is.
         * @example {
         *       "max_tokens": 64,
         *       "messages": [
         *         {
         *           "content": "What is 2 + 2?",
         *           "role": "user"
         *         }
         *       ],
         *       "model": "smollm2-135m-instruct",
         *       "stream": false,
         *       "temperature": 0
         *     }
         */
        ChatCompletionBody: {
            /** @default null */
            logprobs: boolean | null;
            /** @default null */
            max_completion_tokens: number | null;
            /** @default null */
            max_tokens: number | null;
            messages: components["schemas"]["ChatMessageIn"][];
            model: string;
            /** @default null */
            seed: number | null;
            /** @default null */
            stop: string | string[] | null;
            /** @default null */
            stream: boolean | null;
            /** @default null */
            stream_options: {
                [key: string]: unknown;
            } | null;
            /** @default null */
            temperature: number | null;
            /** @default null */
            top_p: number | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description An answer as OpenAI's API gives it.
         * @example {
         *       "choices": [
         *         {
         *           "finish_reason": "stop",
         *           "index": 0,
         *           "message": {
         *             "content": "2 + 2 equals 4.",
         *             "role": "assistant"
         *           }
         *         }
         *       ],
         *       "created": 1769860800,
         *       "id": "chatcmpl-0198c1de7c1f4c559a5e4f3f3d0e8a11",
         *       "model": "smollm2-135m-instruct",
         *       "object": "chat.completion",
         *       "usage": {
         *         "completion_tokens": 8,
         *         "prompt_tokens": 31,
         *         "total_tokens": 39
         *       }
         *     }
         */
        ChatCompletionOut: {
            choices: components["schemas"]["ChatChoiceOut"][];
            created: number;
            id: string;
            model: string;
            /** @constant */
            object: "chat.completion";
            /** @default null */
            usage: {
                [key: string]: unknown;
            } | null;
        } & {
            [key: string]: unknown;
        };
        /** @description One message of a dialogue. */
        ChatMessageIn: {
            /** @default null */
            content: string | unknown[] | null;
            role: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * @description A whole answer.
         * @example {
         *       "finish_reason": "stop",
         *       "session_id": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *       "text": "2 + 2 equals 4.",
         *       "turn": 1,
         *       "usage": {
         *         "completion_tokens": 8,
         *         "prompt_tokens": 31
         *       }
         *     }
         */
        ChatOut: {
            finish_reason: string;
            session_id: string;
            text: string;
            turn: number;
            usage: components["schemas"]["UsageOut"];
        };
        /**
         * @description What has become of an answer.
         * @example {
         *       "finish_reason": null,
         *       "session_id": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *       "state": "pending",
         *       "text": "2 + 2",
         *       "turn": 1,
         *       "usage": {
         *         "completion_tokens": null,
         *         "prompt_tokens": null
         *       }
         *     }
         */
        ChatResultOut: {
            finish_reason: string | null;
            /** Format: uuid */
            session_id: string;
            /** @enum {string} */
            state: "pending" | "done" | "failed";
            text: string;
            turn: number;
            usage: components["schemas"]["UsageOut"];
        };
        /** @enum {string} */
        ContestantKind: "embedded" | "openai";
        /**
         * @description A contestant as an admin sees it.
         * @example {
         *       "active": 0,
         *       "detail": "",
         *       "engine": "ready",
         *       "key_env": "MY_MODEL_KEY",
         *       "kind": "openai",
         *       "max_concurrent": 64,
         *       "model": "my-model-v2",
         *       "name": "my-model",
         *       "replicas": [
         *         {
         *           "active": 0,
         *           "capacity": 64,
         *           "contestant": "my-model",
         *           "detail": "",
         *           "id": "my-model@http://127.0.0.1:8001/v1",
         *           "label": "3f1c9a52",
         *           "outstanding_tokens": 0,
         *           "rate_tokens_per_s": 3200,
         *           "state": "ready",
         *           "turns": 0,
         *           "url": "http://127.0.0.1:8001/v1"
         *         }
         *       ],
         *       "state": "active",
         *       "urls": [
         *         "http://127.0.0.1:8001/v1"
         *       ],
         *       "waiting": 0,
         *       "weight": 1
         *     }
         */
        ContestantOut: {
            active: number;
            detail: string;
            engine: components["schemas"]["EngineState"];
            key_env: string | null;
            kind: components["schemas"]["ContestantKind"];
            max_concurrent: number;
            model: string;
            name: string;
            replicas: components["schemas"]["ReplicaOut"][];
            state: components["schemas"]["ContestantState"];
            urls: string[];
            waiting: number;
            weight: number;
        };
        /**
         * @description What of a contestant is to change; what is left out stays.
         * @example {
         *       "state": "paused",
         *       "weight": 0.5
         *     }
         */
        ContestantPatch: {
            state?: ("active" | "paused") | null;
            urls?: string[] | null;
            weight?: number | null;
        };
        /** @description Where a contestant's answers are. */
        ContestantProgressOut: {
            abstained: number;
            answered: number;
            contestant: string;
            failed: number;
            missing: number;
            parked: number;
            pending: number;
            scored: number;
        };
        /**
         * @description One model. With `url` it is an OpenAI-compatible server, with `weights` it runs inside the runner.
         * @example {
         *       "key_env": "MY_MODEL_KEY",
         *       "model": "my-model-v2",
         *       "name": "my-model",
         *       "url": "http://127.0.0.1:8001/v1"
         *     }
         */
        ContestantSettings: {
            draft?: string | null;
            key_env?: string | null;
            /** @default 64 */
            max_concurrent: number;
            model?: string | null;
            name: string;
            /** @default false */
            prefill: boolean;
            sha256?: string | null;
            speculative?: "ngram" | null;
            url?: string | null;
            /** @default [] */
            urls: string[];
            /** @default 1 */
            weight: number;
            weights?: string | null;
        };
        /** @enum {string} */
        ContestantState: "active" | "paused" | "removed";
        /**
         * @example {
         *       "contestants": [
         *         {
         *           "active": 0,
         *           "detail": "",
         *           "engine": "ready",
         *           "key_env": "MY_MODEL_KEY",
         *           "kind": "openai",
         *           "max_concurrent": 64,
         *           "model": "my-model-v2",
         *           "name": "my-model",
         *           "replicas": [
         *             {
         *               "active": 0,
         *               "capacity": 64,
         *               "contestant": "my-model",
         *               "detail": "",
         *               "id": "my-model@http://127.0.0.1:8001/v1",
         *               "label": "3f1c9a52",
         *               "outstanding_tokens": 0,
         *               "rate_tokens_per_s": 3200,
         *               "state": "ready",
         *               "turns": 0,
         *               "url": "http://127.0.0.1:8001/v1"
         *             }
         *           ],
         *           "state": "active",
         *           "urls": [
         *             "http://127.0.0.1:8001/v1"
         *           ],
         *           "waiting": 0,
         *           "weight": 1
         *         }
         *       ]
         *     }
         */
        ContestantsOut: {
            contestants: components["schemas"]["ContestantOut"][];
        };
        /**
         * @description A battle, a side-by-side comparison or a chat.
         * @example {
         *       "created_at": "2026-01-31T12:00:00Z",
         *       "forfeited_by": null,
         *       "id": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *       "kind": "battle",
         *       "models": null,
         *       "receipt": null,
         *       "state": "streaming",
         *       "turns": [
         *         {
         *           "answers": {
         *             "a": {
         *               "finish_reason": "stop",
         *               "state": "done",
         *               "text": "Sunlight meets drops of rain …"
         *             },
         *             "b": {
         *               "finish_reason": null,
         *               "state": "pending",
         *               "text": null
         *             }
         *           },
         *           "created_at": "2026-01-31T12:00:00Z",
         *           "prompt": "Explain rainbows to a child.",
         *           "turn": 1
         *         }
         *       ],
         *       "void_reason": null,
         *       "winner": null
         *     }
         */
        ConversationOut: {
            /** Format: date-time */
            created_at: string;
            forfeited_by: ("a" | "b") | null;
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            kind: "battle" | "side_by_side" | "chat";
            models: {
                a?: string;
                b?: string;
            } | null;
            receipt: string | null;
            /** @enum {string} */
            state: "streaming" | "ready" | "forfeited" | "voted" | "void";
            turns: components["schemas"]["TurnOut"][];
            void_reason: string | null;
            winner: components["schemas"]["Winner"] | null;
        };
        /** @description A mean difference of scores on the same questions, with its 95 % interval. */
        DifferenceOut: {
            difference: number;
            high: number | null;
            low: number | null;
            others: number;
            own: number;
            questions: number;
        };
        /** @description The last look at one engine. */
        EngineCheckOut: {
            /** Format: date-time */
            checked_at: string;
            engine: string;
            found: components["schemas"]["EngineFiguresOut"] | null;
            model: string;
            noise: components["schemas"]["EngineFiguresOut"] | null;
            reasons: string[];
            rolled_back_since: string | null;
            verdict: string;
        };
        /**
         * @description The last look at each engine, the newest first; none where no reduced engine has scored anything yet.
         * @example {
         *       "engines": [
         *         {
         *           "checked_at": "2026-01-31T12:00:00Z",
         *           "engine": "int8-dynamic",
         *           "found": {
         *             "kl_mean": 0.0004,
         *             "kl_p99": 0.004,
         *             "pairs": 120,
         *             "samples": 240,
         *             "top1": 0.99
         *           },
         *           "model": "reward-3f1c9a52",
         *           "noise": {
         *             "kl_mean": 0,
         *             "kl_p99": 0,
         *             "pairs": 120,
         *             "samples": 240,
         *             "top1": 1
         *           },
         *           "reasons": [],
         *           "rolled_back_since": null,
         *           "verdict": "promote"
         *         }
         *       ]
         *     }
         */
        EngineChecksOut: {
            engines: components["schemas"]["EngineCheckOut"][];
        };
        /** @description How far an engine's scores are from the full-precision one's, on the same answers. */
        EngineFiguresOut: {
            kl_mean: number;
            kl_p99: number;
            pairs: number;
            samples: number;
            top1: number;
        };
        /** @enum {string} */
        EngineState: "loading" | "ready" | "cold" | "draining" | "ejected" | "failed" | "unknown";
        /**
         * @description Every error of every route.
         * @example {
         *       "error": {
         *         "code": "limit_exceeded",
         *         "field": "prompt",
         *         "message": "The prompt has 9000 characters; the limit is 8000."
         *       }
         *     }
         */
        ErrorBody: {
            error: components["schemas"]["ErrorDetail"];
        };
        /** @description What went wrong. */
        ErrorDetail: {
            code: string;
            field?: string | null;
            message: string;
        };
        /** @description A number with its 95 % interval; `null` where the scores do not determine it. */
        FigureOut: {
            high: number | null;
            low: number | null;
            value: number | null;
        };
        /**
         * @description One's own conversations, newest first.
         * @example {
         *       "conversations": [
         *         {
         *           "created_at": "2026-01-31T12:00:00Z",
         *           "id": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *           "kind": "battle",
         *           "models": {
         *             "a": "smollm2-135m-instruct",
         *             "b": "qwen2.5-coder-0.5b-instruct"
         *           },
         *           "state": "voted",
         *           "winner": "a"
         *         }
         *       ],
         *       "next": null
         *     }
         */
        HistoryOut: {
            conversations: components["schemas"]["SummaryOut"][];
            next: string | null;
        };
        /**
         * @description What a round tells of its judge.
         * @example {
         *       "agreement": null,
         *       "anchor": "small",
         *       "answers": 80,
         *       "exact": {
         *         "count": 150,
         *         "high": 0.9823,
         *         "low": 0.9187,
         *         "of": 156,
         *         "share": 0.9615
         *       },
         *       "first_shown": {
         *         "count": 81,
         *         "high": 0.66,
         *         "low": 0.5,
         *         "of": 140,
         *         "share": 0.5786
         *       },
         *       "judge": "referee",
         *       "judge_abstained": {
         *         "count": 2,
         *         "high": 0.06,
         *         "low": 0,
         *         "of": 80,
         *         "share": 0.025
         *       },
         *       "orders_disagree": {
         *         "count": 18,
         *         "high": 0.32,
         *         "low": 0.13,
         *         "of": 80,
         *         "share": 0.225
         *       },
         *       "repeated": {
         *         "count": 9,
         *         "high": 0.1035,
         *         "low": 0.0299,
         *         "of": 160,
         *         "share": 0.0563
         *       },
         *       "scored": {
         *         "count": 56,
         *         "high": 0.81,
         *         "low": 0.59,
         *         "of": 80,
         *         "share": 0.7
         *       },
         *       "self_preference": {
         *         "difference": 0.07,
         *         "high": 0.16,
         *         "low": -0.02,
         *         "others": 0.51,
         *         "own": 0.58,
         *         "questions": 40
         *       },
         *       "tokens": 91000,
         *       "unparseable": {
         *         "count": 4,
         *         "high": 0.1,
         *         "low": 0,
         *         "of": 80,
         *         "share": 0.05
         *       }
         *     }
         */
        JudgeOut: {
            agreement: components["schemas"]["AgreementOut"] | null;
            anchor: string | null;
            answers: number;
            exact: components["schemas"]["ShareOut"];
            first_shown: components["schemas"]["ShareOut"];
            judge: string;
            judge_abstained: components["schemas"]["ShareOut"];
            orders_disagree: components["schemas"]["ShareOut"];
            repeated: components["schemas"]["ShareOut"];
            scored: components["schemas"]["ShareOut"];
            self_preference: components["schemas"]["DifferenceOut"] | null;
            tokens: number;
            unparseable: components["schemas"]["ShareOut"];
        };
        /** @enum {string} */
        Kind: "battle" | "side_by_side" | "chat";
        LimitsOut: {
            answer_tokens: number;
            prompt_chars: number;
            turns: number;
        };
        /**
         * @description Win rates of each model, by row, against each other one; `null` where none is known.
         *
         *     A tie and a both-bad count as half. The averages give every opponent the same weight.
         * @example {
         *       "average_observed": [
         *         0.6,
         *         0.4
         *       ],
         *       "average_predicted": [
         *         0.6,
         *         0.4
         *       ],
         *       "battles": [
         *         [
         *           0,
         *           20
         *         ],
         *         [
         *           20,
         *           0
         *         ]
         *       ],
         *       "models": [
         *         "one",
         *         "two"
         *       ],
         *       "name": "main",
         *       "observed": [
         *         [
         *           null,
         *           0.6
         *         ],
         *         [
         *           0.4,
         *           null
         *         ]
         *       ],
         *       "predicted": [
         *         [
         *           null,
         *           0.6
         *         ],
         *         [
         *           0.4,
         *           null
         *         ]
         *       ],
         *       "updated_at": "2026-01-31T12:00:00.000Z",
         *       "view": {
         *         "category": "code",
         *         "style": false,
         *         "window": "30d"
         *       },
         *       "votes": 20
         *     }
         */
        MatrixOut: {
            average_observed: (number | null)[];
            average_predicted: (number | null)[];
            battles: number[][];
            models: string[];
            name: string;
            observed: (number | null)[][];
            predicted: (number | null)[][];
            updated_at: string | null;
            view: components["schemas"]["ViewOut"];
            votes: number;
        };
        /** @description A contestant that can be named. */
        ModelOut: {
            kind: components["schemas"]["ContestantKind"];
            name: string;
            /** @enum {string} */
            state: "ready" | "loading" | "failed" | "paused";
        };
        /**
         * @example {
         *       "models": [
         *         {
         *           "kind": "embedded",
         *           "name": "smollm2-135m-instruct",
         *           "state": "ready"
         *         }
         *       ]
         *     }
         */
        ModelsOut: {
            models: components["schemas"]["ModelOut"][];
        };
        /** @description The two models of a side-by-side comparison. */
        NamedModels: {
            a: string;
            b: string;
        };
        /**
         * @description A question bank, who answers it, and what scores the answers.
         * @example {
         *       "contestants": [
         *         "smollm2-135m-instruct",
         *         {
         *           "made_here": false,
         *           "name": "my-model"
         *         }
         *       ],
         *       "name": "Spring",
         *       "questions": [
         *         {
         *           "category": "science",
         *           "id": "sky",
         *           "language": "en",
         *           "prompt": "Why is the sky blue?"
         *         },
         *         {
         *           "category": "writing",
         *           "turns": [
         *             "Write a haiku.",
         *             "And another."
         *           ]
         *         }
         *       ],
         *       "scorer": "reward"
         *     }
         */
        NewRoundBody: {
            /** @default null */
            anchor: string | null;
            contestants?: (string | components["schemas"]["RoundContestantIn"])[];
            /** @default null */
            id: string | null;
            /** @default 160 */
            max_tokens: number;
            name: string;
            questions: components["schemas"]["QuestionIn"][];
            /** @default reward */
            scorer: string;
            /** @default 0 */
            seed: number;
            /** @default true */
            strict: boolean;
        };
        /** @description `code` is stable, `text` is for people. */
        NoteOut: {
            code: string;
            text: string;
        };
        /**
         * @description Every error of `/v1`, in OpenAI's shape.
         * @example {
         *       "error": {
         *         "code": "model_not_found",
         *         "message": "The model 'gpt-2' does not exist.",
         *         "param": "model",
         *         "type": "invalid_request_error"
         *       }
         *     }
         */
        OpenAiErrorBody: {
            error: components["schemas"]["OpenAiErrorDetail"];
        };
        /** @description What went wrong. */
        OpenAiErrorDetail: {
            code: string | null;
            message: string;
            param: string | null;
            type: string;
        };
        /**
         * @description A contestant that can be asked.
         * @example {
         *       "created": 0,
         *       "id": "smollm2-135m-instruct",
         *       "object": "model",
         *       "owned_by": "agon"
         *     }
         */
        OpenAiModelOut: {
            created: number;
            id: string;
            /** @constant */
            object: "model";
            owned_by: string;
        };
        /**
         * @description The contestants that can be asked.
         * @example {
         *       "data": [
         *         {
         *           "created": 0,
         *           "id": "smollm2-135m-instruct",
         *           "object": "model",
         *           "owned_by": "agon"
         *         }
         *       ],
         *       "object": "list"
         *     }
         */
        OpenAiModelsOut: {
            data: components["schemas"]["OpenAiModelOut"][];
            /** @constant */
            object: "list";
        };
        /** @description A prompt. */
        PromptBody: {
            /** @example Explain rainbows to a child. */
            prompt: string;
        };
        /** @description A question as banks write it. Other fields are passed over, so that lines of a bank can be sent as they are. */
        QuestionIn: {
            /** @default null */
            category: string | null;
            /** @default null */
            id: string | number | null;
            /** @default null */
            language: string | null;
            /** @default null */
            prompt: string | null;
            /** @default null */
            turns: string[] | null;
        };
        QuestionOut: {
            category: string;
            id: string;
            language: string;
            turns: string[];
        };
        /**
         * @description A page of a round's questions, in the order of its bank. `next` is what to `skip` to get the next page.
         * @example {
         *       "next": null,
         *       "questions": [
         *         {
         *           "category": "science",
         *           "id": "sky",
         *           "language": "en",
         *           "turns": [
         *             "Why is the sky blue?"
         *           ]
         *         }
         *       ]
         *     }
         */
        QuestionsOut: {
            next: number | null;
            questions: components["schemas"]["QuestionOut"][];
        };
        /**
         * @description Ratings at the end of UTC days, each from the votes of the window that ends then.
         * @example {
         *       "days": [
         *         "2026-01-30",
         *         "2026-01-31"
         *       ],
         *       "name": "main",
         *       "series": [
         *         {
         *           "high": [
         *             null,
         *             1046
         *           ],
         *           "low": [
         *             null,
         *             995
         *           ],
         *           "model": "one",
         *           "ratings": [
         *             null,
         *             1020.5
         *           ]
         *         }
         *       ],
         *       "updated_at": "2026-01-31T12:00:00.000Z",
         *       "view": {
         *         "category": "code",
         *         "style": false,
         *         "window": "30d"
         *       },
         *       "votes": [
         *         180,
         *         200
         *       ]
         *     }
         */
        RatingHistoryOut: {
            days: string[];
            name: string;
            series: components["schemas"]["SeriesOut"][];
            updated_at: string | null;
            view: components["schemas"]["ViewOut"];
            votes: number[];
        };
        /** @description Why an answer of a batch was not taken; the others are. */
        RefusedOut: {
            error: components["schemas"]["ErrorDetail"];
        };
        /**
         * @description Which side to generate again.
         * @example {
         *       "side": "b"
         *     }
         */
        RegenerateBody: {
            side: components["schemas"]["Side"];
        };
        /**
         * @description One engine that answers for a contestant, as the whole fleet sees it.
         * @example {
         *       "active": 0,
         *       "capacity": 64,
         *       "contestant": "my-model",
         *       "detail": "",
         *       "id": "my-model@http://127.0.0.1:8001/v1",
         *       "label": "3f1c9a52",
         *       "outstanding_tokens": 0,
         *       "rate_tokens_per_s": 3200,
         *       "state": "ready",
         *       "turns": 0,
         *       "url": "http://127.0.0.1:8001/v1"
         *     }
         */
        ReplicaOut: {
            active: number;
            capacity: number;
            contestant: string;
            detail: string;
            id: string;
            label: string;
            outstanding_tokens: number;
            rate_tokens_per_s: number;
            state: components["schemas"]["EngineState"];
            turns: number;
            url: string | null;
        };
        /** @description What is to become of a replica: `draining` finishes what it has and gets nothing new, `ready` is used again. */
        ReplicaPatch: {
            /**
             * @example draining
             * @enum {string}
             */
            state: "draining" | "ready";
        };
        /**
         * @example {
         *       "replicas": [
         *         {
         *           "active": 0,
         *           "capacity": 64,
         *           "contestant": "my-model",
         *           "detail": "",
         *           "id": "my-model@http://127.0.0.1:8001/v1",
         *           "label": "3f1c9a52",
         *           "outstanding_tokens": 0,
         *           "rate_tokens_per_s": 3200,
         *           "state": "ready",
         *           "turns": 0,
         *           "url": "http://127.0.0.1:8001/v1"
         *         }
         *       ]
         *     }
         */
        ReplicasOut: {
            replicas: components["schemas"]["ReplicaOut"][];
        };
        /**
         * @description How many answers are made or scored once more.
         * @example {
         *       "answers": 1
         *     }
         */
        RerunOut: {
            answers: number;
        };
        /**
         * @description The best hundred contestants, by row, against each other on questions that both have a score on; `null` if none.
         *
         *     `low` and `high` are the 95 % interval of the win rate, `gap_low` and `gap_high` that of the mean difference of
         *     scores, the row's less the column's.
         * @example {
         *       "contestants": [
         *         "smollm2-135m-instruct",
         *         "my-model"
         *       ],
         *       "gap": [
         *         [
         *           null,
         *           0.21
         *         ],
         *         [
         *           -0.21,
         *           null
         *         ]
         *       ],
         *       "gap_high": [
         *         [
         *           null,
         *           0.37
         *         ],
         *         [
         *           -0.05,
         *           null
         *         ]
         *       ],
         *       "gap_low": [
         *         [
         *           null,
         *           0.05
         *         ],
         *         [
         *           -0.37,
         *           null
         *         ]
         *       ],
         *       "high": [
         *         [
         *           null,
         *           0.76
         *         ],
         *         [
         *           0.46,
         *           null
         *         ]
         *       ],
         *       "low": [
         *         [
         *           null,
         *           0.54
         *         ],
         *         [
         *           0.24,
         *           null
         *         ]
         *       ],
         *       "merged": 128,
         *       "questions": [
         *         [
         *           0,
         *           64
         *         ],
         *         [
         *           64,
         *           0
         *         ]
         *       ],
         *       "round": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *       "ties": [
         *         [
         *           0,
         *           4
         *         ],
         *         [
         *           4,
         *           0
         *         ]
         *       ],
         *       "win_rate": [
         *         [
         *           null,
         *           0.66
         *         ],
         *         [
         *           0.34,
         *           null
         *         ]
         *       ],
         *       "wins": [
         *         [
         *           0,
         *           40
         *         ],
         *         [
         *           20,
         *           0
         *         ]
         *       ]
         *     }
         */
        RivalsOut: {
            contestants: string[];
            gap: (number | null)[][];
            gap_high: (number | null)[][];
            gap_low: (number | null)[][];
            high: (number | null)[][];
            low: (number | null)[][];
            merged: number;
            questions: number[][];
            round: string;
            ties: number[][];
            win_rate: (number | null)[][];
            wins: number[][];
        };
        /** @description One contestant's answer to one question. */
        RoundAnswerOut: {
            contestant: string;
            detail: {
                [key: string]: unknown;
            } | null;
            error: string | null;
            /** Format: uuid */
            id: string;
            question: string;
            score: number | null;
            stage: components["schemas"]["AnswerStage"];
            texts: string[];
        };
        /**
         * @description All answers to one question, in the order of the contestants.
         * @example {
         *       "answers": [
         *         {
         *           "contestant": "smollm2-135m-instruct",
         *           "detail": null,
         *           "error": null,
         *           "id": "5493b177-b8b7-4483-9aa0-b8dc409546bf",
         *           "question": "sky",
         *           "score": 1.25,
         *           "stage": "scored",
         *           "texts": [
         *             "Because air scatters blue light the most."
         *           ]
         *         }
         *       ],
         *       "question": "sky"
         *     }
         */
        RoundAnswersOut: {
            answers: components["schemas"]["RoundAnswerOut"][];
            question: string;
        };
        /**
         * @description The board of a round, or of one category of its questions.
         * @example {
         *       "answers": {
         *         "smollm2-135m-instruct": {
         *           "abstained": 0,
         *           "answered": 3,
         *           "failed": 1,
         *           "missing": 0,
         *           "parked": 0,
         *           "pending": 12,
         *           "scored": 64
         *         }
         *       },
         *       "categories": [
         *         {
         *           "category": "science",
         *           "questions": 30,
         *           "sparse": false
         *         }
         *       ],
         *       "category": null,
         *       "made_at": "2026-01-31T12:00:00Z",
         *       "merged": 128,
         *       "notes": [],
         *       "questions": 80,
         *       "round": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *       "rows": [
         *         {
         *           "contestant": "smollm2-135m-instruct",
         *           "losses": 20,
         *           "notes": [],
         *           "paired_rank": 1,
         *           "rank": 1,
         *           "rating": {
         *             "high": 1101,
         *             "low": 1013,
         *             "value": 1057
         *           },
         *           "rating_rank": 1,
         *           "score": {
         *             "high": 0.53,
         *             "low": 0.31,
         *             "value": 0.42
         *           },
         *           "scored": 64,
         *           "ties": 4,
         *           "win_rate": {
         *             "high": 0.76,
         *             "low": 0.54,
         *             "value": 0.66
         *           },
         *           "wins": 40
         *         }
         *       ],
         *       "scored_questions": 64,
         *       "scorer": "reward"
         *     }
         */
        RoundBoardOut: {
            answers: {
                [key: string]: components["schemas"]["AnswerCountsOut"];
            };
            categories: components["schemas"]["RoundCategoryOut"][];
            category: string | null;
            made_at: string | null;
            merged: number;
            notes: components["schemas"]["NoteOut"][];
            questions: number;
            round: string;
            rows: components["schemas"]["RoundRowOut"][];
            scored_questions: number;
            scorer: string;
        };
        RoundCategoryOut: {
            category: string;
            questions: number;
            sparse: boolean;
        };
        /**
         * @description A contestant of a round.
         * @example {
         *       "name": "smollm2-135m-instruct"
         *     }
         */
        RoundContestantIn: {
            /** @default true */
            made_here: boolean;
            name: string;
        };
        RoundContestantOut: {
            made_here: boolean;
            name: string;
        };
        /**
         * @description A round and how far it is.
         * @example {
         *       "anchor": null,
         *       "contestants": [
         *         {
         *           "made_here": true,
         *           "name": "smollm2-135m-instruct"
         *         },
         *         {
         *           "made_here": false,
         *           "name": "my-model"
         *         }
         *       ],
         *       "created_at": "2026-01-31T12:00:00Z",
         *       "done": false,
         *       "id": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *       "max_tokens": 160,
         *       "name": "Spring",
         *       "progress": [
         *         {
         *           "abstained": 0,
         *           "answered": 3,
         *           "contestant": "smollm2-135m-instruct",
         *           "failed": 1,
         *           "missing": 0,
         *           "parked": 0,
         *           "pending": 12,
         *           "scored": 64
         *         },
         *         {
         *           "abstained": 0,
         *           "answered": 0,
         *           "contestant": "my-model",
         *           "failed": 0,
         *           "missing": 80,
         *           "parked": 0,
         *           "pending": 0,
         *           "scored": 0
         *         }
         *       ],
         *       "questions": 80,
         *       "scorer": "reward",
         *       "seed": 0,
         *       "strict": true,
         *       "trouble": 1
         *     }
         */
        RoundDetailOut: {
            anchor: string | null;
            contestants: components["schemas"]["RoundContestantOut"][];
            created_at: string | null;
            done: boolean;
            /** Format: uuid */
            id: string;
            max_tokens: number;
            name: string;
            progress: components["schemas"]["ContestantProgressOut"][];
            questions: number;
            scorer: string;
            seed: number;
            strict: boolean;
            trouble: number;
        };
        /**
         * @description A round.
         * @example {
         *       "anchor": null,
         *       "contestants": [
         *         {
         *           "made_here": true,
         *           "name": "smollm2-135m-instruct"
         *         },
         *         {
         *           "made_here": false,
         *           "name": "my-model"
         *         }
         *       ],
         *       "created_at": "2026-01-31T12:00:00Z",
         *       "id": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *       "max_tokens": 160,
         *       "name": "Spring",
         *       "questions": 80,
         *       "scorer": "reward",
         *       "seed": 0,
         *       "strict": true
         *     }
         */
        RoundOut: {
            anchor: string | null;
            contestants: components["schemas"]["RoundContestantOut"][];
            created_at: string | null;
            /** Format: uuid */
            id: string;
            max_tokens: number;
            name: string;
            questions: number;
            scorer: string;
            seed: number;
            strict: boolean;
        };
        /** @description One contestant, by the questions on which it has a score. */
        RoundRowOut: {
            contestant: string;
            losses: number;
            notes: components["schemas"]["NoteOut"][];
            paired_rank: number | null;
            rank: number | null;
            rating: components["schemas"]["FigureOut"];
            rating_rank: number | null;
            score: components["schemas"]["FigureOut"];
            scored: number;
            ties: number;
            win_rate: components["schemas"]["FigureOut"];
            wins: number;
        };
        /**
         * @description A page of rounds, newest first. `next` is what to ask for `before` to get the next page.
         * @example {
         *       "next": null,
         *       "rounds": [
         *         {
         *           "anchor": null,
         *           "contestants": [
         *             {
         *               "made_here": true,
         *               "name": "smollm2-135m-instruct"
         *             },
         *             {
         *               "made_here": false,
         *               "name": "my-model"
         *             }
         *           ],
         *           "created_at": "2026-01-31T12:00:00Z",
         *           "id": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *           "max_tokens": 160,
         *           "name": "Spring",
         *           "questions": 80,
         *           "scorer": "reward",
         *           "seed": 0,
         *           "strict": true
         *         }
         *       ]
         *     }
         */
        RoundsOut: {
            next: string | null;
            rounds: components["schemas"]["RoundOut"][];
        };
        ScorerOut: {
            about: string;
            agreement: components["schemas"]["AgreementOut"] | null;
            name: string;
            package: string;
        };
        /**
         * @description What can score the answers of a round; besides, `judge:` or `grade:` with a contestant's name.
         * @example {
         *       "scorers": [
         *         {
         *           "about": "How much of the prompt's words the answer takes up, less copying and repetition.",
         *           "agreement": {
         *             "bins": [
         *               {
         *                 "least": 0.01,
         *                 "most": 0.2,
         *                 "right": {
         *                   "count": 25,
         *                   "high": 0.6907,
         *                   "low": 0.4118,
         *                   "of": 45,
         *                   "share": 0.5556
         *                 }
         *               }
         *             ],
         *             "decided": 90,
         *             "kappa": 0.2,
         *             "kappa_high": 0.4024,
         *             "kappa_low": -0.0024,
         *             "made_at": "2026-01-31T12:00:00Z",
         *             "pairs": 120,
         *             "revision": "agon-arena 0.1.0 1",
         *             "right": {
         *               "count": 54,
         *               "high": 0.6952,
         *               "low": 0.4967,
         *               "of": 90,
         *               "share": 0.6
         *             },
         *             "unscored": 4
         *           },
         *           "name": "overlap",
         *           "package": "agon-arena 0.1.0"
         *         }
         *       ]
         *     }
         */
        ScorersOut: {
            scorers: components["schemas"]["ScorerOut"][];
        };
        /** @description One model through time, a value a day; `null` where the votes did not determine it. */
        SeriesOut: {
            high: (number | null)[];
            low: (number | null)[];
            model: string;
            ratings: (number | null)[];
        };
        /** @description A share with its 95 % interval; `null` of none. */
        ShareOut: {
            count: number;
            high: number | null;
            low: number | null;
            of: number;
            share: number | null;
        };
        /** @enum {string} */
        Side: "a" | "b";
        /**
         * @description A prompt for two named models.
         * @example {
         *       "models": {
         *         "a": "smollm2-135m-instruct",
         *         "b": "qwen2.5-coder-0.5b-instruct"
         *       },
         *       "prompt": "Explain rainbows to a child."
         *     }
         */
        SideBySideBody: {
            models: components["schemas"]["NamedModels"];
            /** @example Explain rainbows to a child. */
            prompt: string;
        };
        /**
         * @description What a page needs to know before anything else.
         * @example {
         *       "contestants": {
         *         "failed": 0,
         *         "loading": 0,
         *         "paused": 0,
         *         "ready": 2
         *       },
         *       "limits": {
         *         "answer_tokens": 160,
         *         "prompt_chars": 8000,
         *         "turns": 20
         *       },
         *       "name": "Agon",
         *       "notices": [],
         *       "ready": true
         *     }
         */
        StatusOut: {
            contestants: {
                ready?: number;
                loading?: number;
                failed?: number;
                paused?: number;
            };
            limits: components["schemas"]["LimitsOut"];
            name: string;
            notices: components["schemas"]["NoteOut"][];
            ready: boolean;
        };
        /** @description How much a feature sways votes, in points: the advantage of the only answer that has any of it. */
        StyleWeightOut: {
            feature: string;
            points: number;
            se: number;
        };
        /**
         * @description An answer that was made elsewhere.
         * @example {
         *       "model": "my-model",
         *       "question": "sky",
         *       "round_id": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *       "text": "Because air scatters blue light the most."
         *     }
         */
        SubmissionIn: {
            model: string;
            /** @default null */
            prompt: string | null;
            /** @default null */
            question: string | null;
            /** Format: uuid */
            round_id: string;
            /** @default null */
            text: string | null;
            /** @default null */
            texts: string[] | null;
            /** @default null */
            turns: string[] | null;
        };
        /**
         * @description Answers that were made elsewhere.
         * @example {
         *       "answers": [
         *         {
         *           "model": "my-model",
         *           "question": "sky",
         *           "round_id": "0198c1de-7c1f-4c55-9a5e-4f3f3d0e8a11",
         *           "text": "Because air scatters blue light the most."
         *         }
         *       ]
         *     }
         */
        SubmissionsIn: {
            answers: components["schemas"]["SubmissionIn"][];
        };
        /**
         * @description What became of each answer, in order.
         * @example {
         *       "answers": [
         *         {
         *           "answer_id": "5493b177-b8b7-4483-9aa0-b8dc409546bf",
         *           "repeated": false
         *         },
         *         {
         *           "error": {
         *             "code": "question_unknown",
         *             "field": "question",
         *             "message": "This round has no question 'moon'."
         *           }
         *         }
         *       ]
         *     }
         */
        SubmittedBatchOut: {
            answers: (components["schemas"]["SubmittedOut"] | components["schemas"]["RefusedOut"])[];
        };
        /**
         * @description The ledger has the answer.
         * @example {
         *       "answer_id": "5493b177-b8b7-4483-9aa0-b8dc409546bf",
         *       "repeated": false
         *     }
         */
        SubmittedOut: {
            /** Format: uuid */
            answer_id: string;
            repeated: boolean;
        };
        /** @description A line of one's history. */
        SummaryOut: {
            /** Format: date-time */
            created_at: string;
            /** Format: uuid */
            id: string;
            kind: components["schemas"]["Kind"];
            models: {
                a?: string;
                b?: string;
            } | null;
            /** @enum {string} */
            state: "open" | "forfeited" | "voted" | "void";
            title: string;
            winner: components["schemas"]["Winner"] | null;
        };
        /**
         * @description Answers that failed or are parked, the oldest first.
         * @example {
         *       "answers": [
         *         {
         *           "contestant": "smollm2-135m-instruct",
         *           "detail": null,
         *           "error": "engine_unreachable: nobody answered",
         *           "id": "5493b177-b8b7-4483-9aa0-b8dc409546bf",
         *           "question": "sky",
         *           "score": null,
         *           "stage": "failed",
         *           "texts": []
         *         }
         *       ]
         *     }
         */
        TroubleOut: {
            answers: components["schemas"]["RoundAnswerOut"][];
        };
        /** @description One prompt and its answers. */
        TurnOut: {
            answers: {
                a?: components["schemas"]["AnswerOut"];
                b?: components["schemas"]["AnswerOut"];
            };
            /** Format: date-time */
            created_at: string;
            prompt: string;
            turn: number;
        };
        /** @description Tokens as the engine counted them; `null` where it did not. */
        UsageOut: {
            completion_tokens: number | null;
            prompt_tokens: number | null;
        };
        /** @description Which votes are counted, and whether the style of answers is taken out. */
        ViewOut: {
            category: components["schemas"]["Category"] | null;
            style: boolean;
            window: components["schemas"]["Window"];
        };
        /** @description Who was better. */
        VoteBody: {
            /** @example a */
            winner: components["schemas"]["Winner"];
        };
        /**
         * @description A vote that the ledger holds.
         * @example {
         *       "created_at": "2026-01-31T12:00:00Z",
         *       "models": {
         *         "a": "smollm2-135m-instruct",
         *         "b": "qwen2.5-coder-0.5b-instruct"
         *       },
         *       "receipt": "5493b177-b8b7-4483-9aa0-b8dc409546bf",
         *       "winner": "a"
         *     }
         */
        VoteOut: {
            /** Format: date-time */
            created_at: string;
            models: {
                a?: string;
                b?: string;
            };
            /** Format: uuid */
            receipt: string;
            winner: components["schemas"]["Winner"];
        };
        /**
         * @description Which votes count by their time: whole UTC days, today being the last.
         * @enum {string}
         */
        Window: "all" | "30d" | "7d";
        /** @enum {string} */
        Winner: "a" | "b" | "tie" | "both_bad";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    contestants_admin_contestants_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContestantsOut"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    add_admin_contestants_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContestantSettings"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContestantOut"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    remove_admin_contestants__name__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    change_admin_contestants__name__patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContestantPatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContestantOut"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    replicas_admin_replicas_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplicasOut"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    change_replica_admin_replicas__id__patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplicaPatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplicaOut"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    history_arena_battles_get: {
        parameters: {
            query?: {
                limit?: number;
                before?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryOut"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    start_battle_arena_battles_post: {
        parameters: {
            query?: never;
            header?: {
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PromptBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationOut"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    find_arena_battles__battle_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                battle_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    events_arena_battles__battle_id__events_get: {
        parameters: {
            query?: {
                after?: string | null;
            };
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                battle_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    stop_arena_battles__battle_id__stop_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                battle_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    add_turn_arena_battles__battle_id__turns_post: {
        parameters: {
            query?: never;
            header?: {
                "idempotency-key"?: string | null;
            };
            path: {
                battle_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PromptBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    regenerate_arena_battles__battle_id__turns__turn__regenerate_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                battle_id: string;
                turn: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegenerateBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    vote_arena_battles__battle_id__vote_post: {
        parameters: {
            query?: never;
            header?: {
                "idempotency-key"?: string | null;
            };
            path: {
                battle_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VoteBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VoteOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    board_arena_boards__name__get: {
        parameters: {
            query?: {
                /** @description Votes of these last days, in UTC, today included. */
                window?: components["schemas"]["Window"];
                /** @description Votes of this category alone. */
                category?: components["schemas"]["Category"] | null;
                /** @description Take the length and the formatting of answers out. */
                style?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BoardOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    board_events_arena_boards__name__events_get: {
        parameters: {
            query?: {
                /** @description Votes of these last days, in UTC, today included. */
                window?: components["schemas"]["Window"];
                /** @description Votes of this category alone. */
                category?: components["schemas"]["Category"] | null;
                /** @description Take the length and the formatting of answers out. */
                style?: boolean;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    rating_history_arena_boards__name__history_get: {
        parameters: {
            query?: {
                /** @description Votes of these last days, in UTC, today included. */
                window?: components["schemas"]["Window"];
                /** @description Votes of this category alone. */
                category?: components["schemas"]["Category"] | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RatingHistoryOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    matrix_arena_boards__name__matrix_get: {
        parameters: {
            query?: {
                /** @description Votes of these last days, in UTC, today included. */
                window?: components["schemas"]["Window"];
                /** @description Votes of this category alone. */
                category?: components["schemas"]["Category"] | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MatrixOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    engines_arena_engines_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EngineChecksOut"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    models_arena_models_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelsOut"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    rounds_arena_rounds_get: {
        parameters: {
            query?: {
                limit?: number;
                before?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoundsOut"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    create_round_arena_rounds_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRoundBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoundOut"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    find_round_arena_rounds__round_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoundDetailOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    round_answers_arena_rounds__round_id__answers_get: {
        parameters: {
            query: {
                /** @description Its id. */
                question: string;
            };
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoundAnswersOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    round_board_arena_rounds__round_id__board_get: {
        parameters: {
            query?: {
                /** @description Its questions alone. */
                category?: string | null;
            };
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoundBoardOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    add_round_contestant_arena_rounds__round_id__contestants_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RoundContestantIn"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoundOut"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    round_events_arena_rounds__round_id__events_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    round_judge_arena_rounds__round_id__judge_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JudgeOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    round_questions_arena_rounds__round_id__questions_get: {
        parameters: {
            query?: {
                limit?: number;
                skip?: number;
            };
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuestionsOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    rerun_round_arena_rounds__round_id__rerun_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RerunOut"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    round_rivals_arena_rounds__round_id__rivals_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RivalsOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    round_trouble_arena_rounds__round_id__trouble_get: {
        parameters: {
            query?: {
                limit?: number;
            };
            header?: never;
            path: {
                round_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TroubleOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    scorers_arena_scorers_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScorersOut"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    start_side_by_side_arena_side_by_side_post: {
        parameters: {
            query?: never;
            header?: {
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SideBySideBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationOut"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    status_arena_status_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatusOut"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    submit_answers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubmissionIn"] | components["schemas"]["SubmissionsIn"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmittedOut"] | components["schemas"]["SubmittedBatchOut"];
                };
            };
            /** @description Refused */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    find_vote_arena_votes__receipt__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                receipt: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VoteOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    chat_chat_post: {
        parameters: {
            query?: never;
            header?: {
                accept?: string;
                prefer?: string;
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatOut"];
                };
            };
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    result_chat_result__result__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                result: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatResultOut"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    healthz_healthz_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: string;
                    };
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    metrics_metrics_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    readyz_readyz_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: string;
                    };
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorBody"];
                };
            };
        };
    };
    chat_completions: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatCompletionBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCompletionOut"];
                    "text/event-stream": string;
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiErrorBody"];
                };
            };
            /** @description Failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiErrorBody"];
                };
            };
        };
    };
    openai_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiModelsOut"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiErrorBody"];
                };
            };
            /** @description Failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiErrorBody"];
                };
            };
        };
    };
    openai_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                model: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiModelOut"];
                };
            };
            /** @description Refused */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiErrorBody"];
                };
            };
            /** @description Failed */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiErrorBody"];
                };
            };
        };
    };
}
