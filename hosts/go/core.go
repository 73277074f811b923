package redrive

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The core has no clock, no chance and no network: calls go in as words, and answers come back. docs/hosts.md is its protocol. What a call
// means is up to the queue; this file carries words and text across.

//go:embed redrive-core.wasm
var moduleBytes []byte

// protocolVersion is what this host speaks.
const protocolVersion = 1

// wordSize is that of a number as it crosses, in bytes.
const wordSize = 8

var (
	notGiven = math.NaN()
	never    = math.Inf(1)
)

// compiledCore is the module, compiled once for all queues of a process.
type compiledCore struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
}

var compileCore = sync.OnceValues(func() (compiledCore, error) {
	runtime := wazero.NewRuntime(context.Background())
	module, err := runtime.CompileModule(context.Background(), moduleBytes)
	return compiledCore{runtime, module}, err
})

// coreFault is the panic of a core that trapped or could not read a call. It is this host's mistake, and the instance is of no use any more.
type coreFault struct{ error }

// core is one instance of the module: one queue. Its lock guards whatever its owner keeps beside it.
type core struct {
	sync.Mutex
	instance api.Module
	memory   api.Memory
	words    api.Function
	text     api.Function
	runCalls api.Function
	answers  api.Function
	// What crosses in a call of a function: one number at most, either way.
	stack [1]uint64
	asked []float64
	// How many of those calls were made by later.
	unread int
	// The answers of the last run, and those that have not been read yet.
	said, rest []float64
}

func newCore() (*core, error) {
	compiled, err := compileCore()
	if err != nil {
		return nil, fmt.Errorf("redrive: the core's module could not be compiled: %w", err)
	}
	instance, err := compiled.runtime.InstantiateModule(context.Background(), compiled.module, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, fmt.Errorf("redrive: the core's module could not be started: %w", err)
	}
	c := &core{
		instance: instance,
		memory:   instance.Memory(),
		words:    instance.ExportedFunction("rd_words"),
		text:     instance.ExportedFunction("rd_text"),
		runCalls: instance.ExportedFunction("rd_run"),
		answers:  instance.ExportedFunction("rd_answers"),
	}
	version, err := instance.ExportedFunction("rd_abi").Call(context.Background())
	if err != nil {
		return nil, fmt.Errorf("redrive: the core's module does not say its protocol: %w", err)
	}
	if version[0] != protocolVersion {
		return nil, fmt.Errorf("redrive: the core's module speaks protocol %d, and this package %d; build both from one commit", version[0], protocolVersion)
	}
	return c, nil
}

func (c *core) close() { _ = c.instance.Close(context.Background()) }

// add puts a call behind those that the next run makes.
func (c *core) add(op int, arguments ...float64) {
	c.asked = append(c.asked, float64(op), float64(len(arguments)))
	c.asked = append(c.asked, arguments...)
}

// later puts a call before those of the next run, whenever that is. Its answer is not read.
func (c *core) later(op int, arguments ...float64) {
	c.add(op, arguments...)
	c.unread++
}

// run makes all calls that were added, in one crossing. Their answers are read with next, in the same order, before the next run.
func (c *core) run() {
	asked := c.asked
	c.asked = asked[:0]
	to := c.view(c.invoke(c.words, len(asked)), len(asked)*wordSize)
	for i, word := range asked {
		binary.LittleEndian.PutUint64(to[i*wordSize:], math.Float64bits(word))
	}
	count := int(c.invoke(c.runCalls, len(asked)))
	from := c.view(c.invoke(c.answers, 0), count*wordSize)
	c.said = c.said[:0]
	for i := range count {
		c.said = append(c.said, math.Float64frombits(binary.LittleEndian.Uint64(from[i*wordSize:])))
	}
	c.rest = c.said
	unread := c.unread
	c.unread = 0
	for range unread {
		c.next()
	}
}

// next is the answer of the next call of the last run, valid until another run.
func (c *core) next() []float64 {
	if len(c.rest) == 0 || c.rest[0] > float64(len(c.rest)-1) {
		panic(coreFault{errors.New("redrive: the core could not read a call")})
	}
	end := 1 + int(c.rest[0])
	answer := c.rest[1:end]
	c.rest = c.rest[end:]
	return answer
}

// ask makes one call and gives its answer.
func (c *core) ask(op int, arguments ...float64) []float64 {
	c.add(op, arguments...)
	c.run()
	return c.next()
}

// writeText writes the parts, one behind the other, where the next call reads its text.
func (c *core) writeText(parts ...string) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	to := c.view(c.invoke(c.text, size), size)
	for _, part := range parts {
		to = to[copy(to, part):]
	}
}

// readText is the text of so many bytes that the last answer is about.
func (c *core) readText(length float64) string {
	return string(c.view(c.invoke(c.text, int(length)), int(length)))
}

func (c *core) view(at uint32, size int) []byte {
	view, ok := c.memory.Read(at, uint32(size))
	if !ok {
		panic(coreFault{fmt.Errorf("redrive: the core has no %d bytes at %d", size, at)})
	}
	return view
}

func (c *core) invoke(function api.Function, argument int) uint32 {
	c.stack[0] = uint64(argument)
	if err := function.CallWithStack(context.Background(), c.stack[:]); err != nil {
		panic(coreFault{fmt.Errorf("redrive: the core stopped: %w", err)})
	}
	return uint32(c.stack[0])
}

// bit is a truth as it crosses.
func bit(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
