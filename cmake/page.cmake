# sgdsim for a browser: what the what-if page needs of it, compiled to WebAssembly.
#
# The same sources, but for the few files of app/page/browser/, which stand in for libraries that a
# browser's program has not. Headers of Boost, nlohmann and CLI11 are the system's own; they are
# reached by links in a folder of their own, because all of /usr/include would hide emscripten's.
if(CCACHE) # it knows the compiler that em++ calls, not em++
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env EM_COMPILER_WRAPPER=${CCACHE})
endif()
set(links ${PROJECT_BINARY_DIR}/headers)
foreach(library IN ITEMS boost nlohmann CLI)
  find_path(SGDSIM_${library} ${library} PATHS /usr/include /usr/local/include REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  file(MAKE_DIRECTORY ${links})
  file(CREATE_LINK ${SGDSIM_${library}}/${library} ${links}/${library} SYMBOLIC)
endforeach()

file(GLOB sources CONFIGURE_DEPENDS sim/*/*.cpp models/*/*.cpp topologies/*.cpp traces/*.cpp traces/kineto/*.cpp
     study/advise/apart.cpp study/advise/training.cpp study/step/*.cpp study/learn/*.cpp app/page/*.cpp app/page/browser/*.cpp)
# Commands, what prints for terminals, XML, and what app/page/browser/ has instead.
list(FILTER sources EXCLUDE REGEX "/command_|/gantt|/nccl_(xml|machine|cards)|/traces/(byte_reader|chakra|goal|protobuf)|/kineto/name_pattern|/models/training/|/sim/core/decimal|/step/digest")
list(APPEND sources study/collective/nccl_answer.cpp study/collective/option_words.cpp study/collective/ranges.cpp study/import/profile_trace.cpp
     study/goodput/deadline_fields.cpp study/goodput/failures_file.cpp study/goodput/goodput_answer.cpp study/goodput/goodput_question.cpp study/goodput/intervals.cpp study/goodput/plan_formulas.cpp study/goodput/saves.cpp study/goodput/spans.cpp study/goodput/training_end.cpp study/layout/layout_rates.cpp
     study/need/breaks.cpp study/need/experiment_breaks.cpp study/need/link_classes.cpp study/traffic/traffic_file.cpp study/sweep/amount.cpp study/sweep/axis.cpp study/sweep/sweep_fields.cpp study/sweep/sweep_file.cpp study/sweep/sweep_point.cpp study/sweep/where.cpp
     study/failure.cpp study/figures.cpp study/question_fields.cpp study/limits.cpp study/packet_use.cpp study/shell_word.cpp study/shipped_inputs.cpp study/table.cpp study/trace_events.cpp study/transport_choice.cpp study/wire_use.cpp study/wire_words.cpp traces/measurement/words.cpp)

add_executable(sgdsim_app ${sources})
set_target_properties(sgdsim_app PROPERTIES OUTPUT_NAME whatif RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
# Its tools in JavaScript need Debian's acorn, which a Node from elsewhere does not find by itself.
set_target_properties(sgdsim_app PROPERTIES CXX_LINKER_LAUNCHER "${CMAKE_COMMAND};-E;env;NODE_PATH=/usr/share/nodejs")
target_include_directories(sgdsim_app PRIVATE ${PROJECT_SOURCE_DIR})
target_include_directories(sgdsim_app SYSTEM PRIVATE ${links})
target_link_libraries(sgdsim_app PRIVATE sgdsim_options)
target_compile_options(sgdsim_app PRIVATE -fwasm-exceptions)
target_link_options(sgdsim_app PRIVATE -fwasm-exceptions -sMODULARIZE=1 -sEXPORT_NAME=sgdsim -sENVIRONMENT=web,worker,node
                    -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=2GB -sTOTAL_STACK=1MB
                    -sEXPORTED_RUNTIME_METHODS=UTF8ToString -sINCOMING_MODULE_JS_API=wasmBinary,instantiateWasm,print,printErr
                    -sDYNAMIC_EXECUTION=0 -sNODEJS_CATCH_EXIT=0 -sNODEJS_CATCH_REJECTION=0 --no-entry -sEXPORTED_FUNCTIONS=_malloc,_free)
sgdsim_embed_files(sgdsim_app traces/data/*.json study/shipped_inputs.h ShippedFile shipped_traces)
sgdsim_embed_files(sgdsim_app models/learning/data/*.txt models/learning/text.h LearningText learning_texts)
sgdsim_embed_files(sgdsim_app topologies/data/*.json study/shipped_inputs.h ShippedFile shipped_clusters)
sgdsim_embed_files(sgdsim_app models/goodput/data/*.json study/goodput/failures_file.h ShippedFile shipped_failures)
sgdsim_precompile(app <nlohmann/json.hpp> ${standard_headers})
sgdsim_units(app)
sgdsim_generate_version(app study)
